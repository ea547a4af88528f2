import Dispatch
import Foundation
import MediaGraph
import Synchronization
import TestSupport
import Testing

/// Compares the messages of descriptions and command lines with the lists in `Tests/Messages`.
@Suite struct MessageTests {
    // MARK: Descriptions

    @Test("GR-2 what is wrong with a description is said as in the list descriptions.txt")
    func descriptions() throws {
        let list = try MessageList("descriptions.txt")
        let current = try list.sections.map { section in
            var section = section
            section.text = try Self.problems(of: section.input)
            #expect(!section.text.isEmpty, "nothing is wrong with this: \(section.input)")
            return section
        }
        if let differences = try list.differences(from: current) { Issue.record("\(differences)") }
    }

    /// Returns the problems of a description as `check` prints them. Lines that begin with "where" set variables.
    private static func problems(of input: [String]) throws -> String {
        let settings = input.filter { $0.hasPrefix("where ") }.map {
            $0.dropFirst(6).split(separator: "=", maxSplits: 1)
        }
        let variables = settings.map { (String($0[0]), $0.count > 1 ? String($0[1]) : "") }
        let text = input.filter { !$0.hasPrefix("where ") }.joined(separator: "\n")
        let diagnostics = try Graph.diagnose(
            Description(text, name: "a.pipeline"), variables: Dictionary(uniqueKeysWithValues: variables))
        let lines = diagnostics.map { $0.rendered(color: false) }.joined(separator: "\n")
        let home = ProcessInfo.processInfo.environment["HOME"] ?? NSHomeDirectory()
        // Other tests in this process may register transports of their own.
        return lines.replacing(/available transports: .*\broom\b.*/, with: "available transports: room")
            .replacing(" \(home)/", with: " /home/me/")
            .replacing(FileManager.default.currentDirectoryPath, with: "/here")
    }

    // MARK: Command lines

    @Test("GR-3 GR-4 the mistakes of a command line are reported as in the list commands.txt")
    func commands() throws { try compare("commands.txt") }

    @Test("GR-3 GR-13 graphs that fail or warn while they run say why, as in the list runs.txt")
    func runs() throws { try compare("runs.txt") }

    private func compare(_ name: String) throws {
        let list = try MessageList(name)
        let outputs = Mutex<[Int: Result<String, any Error>]>([:])
        DispatchQueue.concurrentPerform(iterations: list.sections.count) { index in
            let line = list.sections[index].input.joined(separator: "\n")
            let output = Result { try Self.output(of: line) }
            outputs.withLock { $0[index] = output }
        }
        var current = list.sections
        for (index, output) in outputs.withLock({ $0 }) {
            current[index].text = try output.get()
            #expect(!current[index].text.hasPrefix("exit status 0"), "nothing is wrong with this: \(current[index])")
        }
        if let differences = try list.differences(from: current) { Issue.record("\(differences)") }
    }

    /// Runs a shell line in a folder with the lists' files, without a display and a sound server.
    private static func output(of line: String) throws -> String {
        let folder = try ExampleFolder()
        let bare = ["DISPLAY": "", "WAYLAND_DISPLAY": "", "PULSE_SERVER": "unix:/no/such/socket", "COLUMNS": "120"]
        let run = try Program.shell("cd \(folder.path); \(line)", environment: bare)
        let text = run.errors + run.output + "exit status \(run.status)"
        return text.replacing(folder.path, with: "/here").split(separator: "\n")
            .filter { line in !isLeftOut(line) }.joined(separator: "\n")
    }

    /// Returns whether a line is printed only on a busy machine, or repeats a command's help after each wrong option.
    private static func isLeftOut(_ line: Substring) -> Bool {
        ["Usage: ", "Help: ", "  See '"].contains(where: line.hasPrefix)
            || line.hasPrefix("warning: still creating the elements") || line.contains("is still starting after")
            || line.contains("hasn't received any data")
    }
}

/// A folder with the files that the command lines use.
private struct ExampleFolder: ~Copyable {
    private let folder = TemporaryFolder()
    var path: String { folder.url.path }

    init() throws {
        let pipeline = "videotestsrc num-buffers=1 ! fakesink\n"
        let texts = [
            "plain.pipeline": pipeline, "film.pipeline": "filesrc location=${FILE:-a.mkv} ! decodebin ! fakesink\n",
            "other.pipeline": pipeline, "stdin.pipeline": "fdsrc ! fakesink\n",
            "interlaced.y4m": "YUV4MPEG2 W4 H4 F25:1 It\n", "depth.y4m": "YUV4MPEG2 W4 H4 F25:1 C444\n",
            "cut.y4m": "YUV4MPEG2 W4 H4 F25:1\nFRAME\nabc",
        ]
        for (name, text) in texts { _ = try folder.write(text, to: name) }
        let files: [String: Data?] = [
            "utf16.pipeline": pipeline.data(using: .utf16), "latin1.pipeline": Data([0x23, 0xFC, 0x0A]),
            "film.mkv.pipeline": Data([0x1A, 0x45, 0xDF, 0xA3, 0, 1, 2]), "sound.wav": Self.sound,
            "sound.ogg": Data("OggS\u{0}\u{2}".utf8) + Data(count: 100),
        ]
        for (name, data) in files { try data?.write(to: folder.url.appending(path: name)) }
    }

    /// A WAV file of a second of silence: 8000 Hz, mono, 16 bits.
    private static var sound: Data {
        func number(_ value: UInt32, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(value >> (8 * $0) & 0xFF) } }
        let format = number(16, 4) + number(1, 2) + number(1, 2) + number(8000, 4) + number(16_000, 4) + number(2, 2)
        let header = Array("RIFF".utf8) + number(36 + 16_000, 4) + Array("WAVEfmt ".utf8) + format + number(16, 2)
        return Data(header + Array("data".utf8) + number(16_000, 4) + [UInt8](repeating: 0, count: 16_000))
    }
}
