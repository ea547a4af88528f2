import Foundation

/// A program run to its end, with all that it said.
public struct ChildProcess: Sendable {
    public let status: Int32
    public let output: String
    public let errors: String

    /// Runs a program; a path, or a name that `PATH` finds. Killed, with status 9, after `timeout` seconds.
    public static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], timeout: TimeInterval = 120
    ) throws -> ChildProcess {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mg-child-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Files, not pipes: a child that says much never waits for its reader.
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

    /// The folder that the build put the tests and programs in.
    public static var buildFolder: URL {
        let executable = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        return executable.deletingLastPathComponent()
    }
}
