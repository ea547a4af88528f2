import Foundation
import TestSupport

/// The built `mediagraph`, run as a user runs it.
enum Program {
    static let path = ChildProcess.buildFolder.appendingPathComponent("mediagraph").path

    /// No terminal, and GLib's complaints end the program.
    static let environment = [
        "G_DEBUG": "fatal_warnings", "TERM": "xterm", "MEDIAGRAPH_HANDLERS": "", "LC_ALL": "C.UTF-8",
    ]

    /// Runs to the end.
    static func run(
        _ arguments: String..., environment: [String: String] = [:], timeout: TimeInterval = 60
    ) throws -> ChildProcess {
        try ChildProcess.run(
            path, arguments, environment: Self.environment.merging(environment) { $1 }, timeout: timeout)
    }

    /// Runs a line of a shell, in which `mediagraph` is the program.
    static func shell(_ line: String) throws -> ChildProcess {
        let folder = ChildProcess.buildFolder.path
        return try ChildProcess.run(
            "bash", ["-c", "PATH=\(folder):$PATH; \(line)"], environment: environment, timeout: 60)
    }
}

/// A run that a test sends signals to.
final class LiveProgram {
    private let process = Process()
    private let folder = TemporaryFolder()

    convenience init(_ arguments: String...) throws { try self.init(arguments: arguments) }

    init(arguments: [String], environment: [String: String] = [:]) throws {
        process.executableURL = URL(fileURLWithPath: Program.path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(Program.environment) { $1 }
            .merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try folder.writing("out")
        process.standardError = try folder.writing("err")
        try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    var output: String { (try? folder.text("out")) ?? "" }
    var errors: String { (try? folder.text("err")) ?? "" }

    func send(_ signal: CInt) { kill(process.processIdentifier, signal) }

    /// Waits until what it has printed says so; false when it ended before, or after 60 s.
    func waits(until condition: (LiveProgram) -> Bool) -> Bool {
        let deadline = Date(timeIntervalSinceNow: 60)
        while !condition(self) {
            guard process.isRunning, Date() < deadline else { return condition(self) }
            Thread.sleep(forTimeInterval: 0.02)
        }
        return true
    }

    /// Its exit status; −9 when it didn't end in 60 s.
    func end() -> Int32 {
        let deadline = Date(timeIntervalSinceNow: 60)
        while process.isRunning, Date() < deadline { Thread.sleep(forTimeInterval: 0.01) }
        guard !process.isRunning else { return -9 }
        process.waitUntilExit()
        return process.terminationStatus
    }
}

/// A folder that goes with the test.
final class TemporaryFolder {
    let url: URL

    init() {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("mg-cli-\(UUID().uuidString)")
        try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: url.appendingPathComponent(name))
        return path(name)
    }

    func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: url.appendingPathComponent(name)), as: UTF8.self)
    }

    func writing(_ name: String) throws -> FileHandle {
        _ = FileManager.default.createFile(atPath: path(name), contents: nil)
        return try FileHandle(forWritingTo: url.appendingPathComponent(name))
    }
}

/// What is asked of the lines of `run --json`.
struct RunEvent: Decodable {
    struct Node: Decodable {
        var name: String
        var element: String
        var frames: UInt64?
        var dropped: UInt64?
    }

    var event: String
    var title: String?
    var nodes: [Node]?
    var node: String?
    var on: Bool?
    var reason: String?
    var exitStatus: Int32?
    var frames: UInt64?
    var time: Double?
    var element: String?
    var message: String?
    var detail: String?
    var formatConflict: String?
    var line: Int?
    var column: Int?
    var fields: [String: JSONScalar]?

    /// Each line of a program's output; throws when one is no JSON.
    static func all(_ output: String) throws -> [RunEvent] {
        try output.split(separator: "\n").map { try JSONDecoder().decode(RunEvent.self, from: Data($0.utf8)) }
    }
}
