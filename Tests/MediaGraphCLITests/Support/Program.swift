import Foundation
import TestSupport

@testable import MediaGraphCLI

/// The built `mediagraph`, run as a user runs it.
enum Program {
    static let path = ChildProcess.buildFolder.appendingPathComponent("mediagraph").path

    /// The environment of runs: GLib's warnings end the program, and no handler library is loaded.
    static let environment = [
        "G_DEBUG": "fatal_warnings", "TERM": "xterm", "MEDIAGRAPH_HANDLERS": "", "LC_ALL": "C.UTF-8",
    ]

    /// Runs the program to its end.
    static func run(
        _ arguments: String..., environment: [String: String] = [:], timeout: TimeInterval = 60
    ) throws -> ChildProcess {
        try withoutSlownessWarning(
            ChildProcess.run(
                path, arguments, environment: Self.environment.merging(environment) { $1 }, timeout: timeout))
    }

    /// Removes the warning that creating the elements takes long. It depends on how busy the machine is.
    private static func withoutSlownessWarning(_ run: ChildProcess) -> ChildProcess {
        var run = run
        run.errors = run.errors.replacing(#/warning: still creating the elements after 3 s.*\n(?: .*\n)*/#, with: "")
        return run
    }

    /// Runs a shell line in which `mediagraph` is the built program.
    static func shell(_ line: String, environment: [String: String] = [:]) throws -> ChildProcess {
        let folder = ChildProcess.buildFolder.path
        return try ChildProcess.run(
            "bash", ["-c", "PATH=\(folder):$PATH; \(line)"], environment: Self.environment.merging(environment) { $1 },
            timeout: 60)
    }
}

/// A run that a test sends signals to.
final class LiveProgram {
    private let process = Process()
    private let folder = TemporaryFolder()

    convenience init(_ arguments: String...) throws { try self.init(arguments: arguments) }

    /// Starts a program, given by its path or by a name that `PATH` finds.
    init(_ program: String = Program.path, arguments: [String], environment: [String: String] = [:]) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
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

    /// Sends another signal once the program has reported that it is finishing, and so long after the first one that
    /// the two don't count as one request. Returns false if it doesn't report that.
    func sendAgain(_ signal: CInt) -> Bool {
        guard waits(until: { $0.output.contains("\"finishing\"") }) else { return false }
        Thread.sleep(forTimeInterval: SignalCount.sameRequest / .seconds(1) + 0.1)
        send(signal)
        return true
    }

    /// Waits until the condition is true; returns false if the program has ended before, or after 60 s.
    func waits(until condition: (LiveProgram) -> Bool) -> Bool {
        let deadline = Date(timeIntervalSinceNow: 60)
        while !condition(self) {
            guard process.isRunning, Date() < deadline else { return condition(self) }
            Thread.sleep(forTimeInterval: 0.02)
        }
        return true
    }

    /// Waits for the program to end and returns its exit status; -9 after 60 s.
    func end() -> Int32 {
        let deadline = Date(timeIntervalSinceNow: 60)
        while process.isRunning, Date() < deadline { Thread.sleep(forTimeInterval: 0.01) }
        guard !process.isRunning else { return -9 }
        process.waitUntilExit()
        return process.terminationStatus
    }
}

/// A temporary folder, which is removed when this is released.
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

/// A line of `run --json`, with the fields that tests use.
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

    /// Decodes each line of a program's output; throws if a line isn't JSON.
    static func all(_ output: String) throws -> [RunEvent] {
        try output.split(separator: "\n").map { try JSONDecoder().decode(RunEvent.self, from: Data($0.utf8)) }
    }
}

/// The value of a field of `--json`. Distinguishes a number from a string of digits.
enum JSONScalar: Decodable, Equatable {
    case truth(Bool)
    case number(Double)
    case text(String)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Bool.self) {
            self = .truth(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else {
            self = .text(try container.decode(String.self))
        }
    }
}
