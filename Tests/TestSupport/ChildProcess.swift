import Foundation

/// A program that has run to its end: its status and its output.
public struct ChildProcess: Sendable {
    /// The exit status, or the number of the signal that ended the program.
    public let status: Int32
    /// The standard output.
    public let output: String
    /// The standard error.
    public var errors: String

    /// Runs a program, given by its path or by a name that `PATH` finds. Kills it after `timeout` seconds; the status
    /// is then 9.
    public static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], timeout: TimeInterval = 120
    ) throws -> ChildProcess {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mg-child-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Uses files instead of pipes, so that a child with much output never waits for its reader.
        let files = ["out", "err"].map { folder.appendingPathComponent($0) }
        for file in files { _ = FileManager.default.createFile(atPath: file.path, contents: nil) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = try FileHandle(forWritingTo: files[0])
        process.standardError = try FileHandle(forWritingTo: files[1])
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let deadline = Date(timeIntervalSinceNow: timeout)
        while process.isRunning, Date() < deadline { Thread.sleep(forTimeInterval: 0.01) }
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        let texts = try files.map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }
        return ChildProcess(status: process.terminationStatus, output: texts[0], errors: texts[1])
    }

    /// The folder of the build's tests and programs.
    public static var buildFolder: URL {
        let executable = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        return executable.deletingLastPathComponent()
    }
}
