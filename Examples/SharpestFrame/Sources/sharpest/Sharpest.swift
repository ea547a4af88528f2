import ArgumentParser
import Foundation
import SharpestFrame

@main
struct Sharpest: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sharpest", abstract: "Finds the sharpest frame of a video file and saves it as a PNG.")

    @Argument(help: "The video file.", completion: .file())
    var video: String

    @Option(name: .shortAndLong, help: "The PNG file. The default is the video's path with the frame's number.")
    var output: String?

    func run() async throws {
        guard FileManager.default.fileExists(atPath: video) else {
            throw ValidationError("there is no file \"\(video)\"")
        }
        let isTerminal = isatty(FileHandle.standardError.fileDescriptor) == 1
        let found: SharpestFrame?
        do {
            found = try await SharpestFrame.find(in: video) { frames, part in
                guard isTerminal else { return }
                let percent = part.map { " · \(Int(min(max($0, 0), 1) * 100)) %" } ?? ""
                say("\r  \(frames) frames\(percent)\u{1B}[K", terminator: "")
            }
        } catch {
            if isTerminal { say("") }
            say("error: \(error)")
            throw ExitCode.failure
        }
        if isTerminal { say("\r\u{1B}[K", terminator: "") }
        guard let found else {
            say("error: \"\(video)\" has no frames")
            throw ExitCode.failure
        }

        let stem = URL(fileURLWithPath: video).deletingPathExtension().path
        let output = output ?? "\(stem)-\(found.index).png"
        do {
            try Data(found.frame.png()).write(to: URL(fileURLWithPath: output), options: .atomic)
        } catch {
            say("error: can't write the picture to \"\(output)\": \(error.localizedDescription)")
            throw ExitCode.failure
        }
        let time = found.frame.presentationTimestamp.map { String(format: " at %.3f s", $0.seconds) } ?? ""
        print("frame \(found.index)\(time), sharpness \(String(format: "%.1f", found.sharpness)): \(output)")
    }
}

private func say(_ text: String, terminator: String = "\n") {
    FileHandle.standardError.write(Data((text + terminator).utf8))
}
