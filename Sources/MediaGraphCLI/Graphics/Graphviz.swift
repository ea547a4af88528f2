import Foundation
import Glibc
import Synchronization

/// Draws pictures with Graphviz's program `dot`.
enum Graphviz {
    enum Problem: Error, CustomStringConvertible {
        case missing
        case failed(String)

        var description: String {
            switch self {
            case .missing:
                "drawing needs Graphviz: sudo apt install graphviz; or give -o a name ending in .dot, which doesn't need it"
            case .failed(let reason): "Graphviz can't draw this: \(reason)"
            }
        }
    }

    /// The supported formats, which are also the extensions of their files.
    static let formats = ["svg", "png", "pdf"]

    /// Draws a picture and returns the content of its file. Graphviz doesn't write the file itself, because it exits
    /// with status 0 even if the disk is full.
    static func draw(_ text: String, format: String) throws(Problem) -> Data {
        guard let program = find() else { throw .missing }
        signal(SIGPIPE, SIG_IGN)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["-T\(format)", "-Gdpi=\(format == "png" ? 144 : 72)"]
        let (input, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        do { try process.run() } catch { throw .failed(error.localizedDescription) }
        // Writes in parallel with the reading below: Graphviz writes warnings and output while it still reads.
        DispatchQueue.global().async {
            try? input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
            try? input.fileHandleForWriting.close()
        }
        let errorOutput = Mutex(Data())
        let readsErrors = DispatchGroup()
        DispatchQueue.global().async(group: readsErrors) {
            let read = (try? errors.fileHandleForReading.readToEnd()) ?? Data()
            errorOutput.withLock { $0 = read }
        }
        let picture = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        readsErrors.wait()
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0, !picture.isEmpty else {
            let text = errorOutput.withLock { String(decoding: $0, as: UTF8.self) }
            let reason = text.split(whereSeparator: \.isNewline).first.map(String.init)
            throw .failed(reason ?? "it ended with status \(process.terminationStatus)")
        }
        return picture
    }

    private static func find() -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/dot" }.first { access($0, X_OK) == 0 }
    }
}
