import Foundation
import TestSupport

/// A program that runs until the test stops it.
final class BackgroundProgram {
    private let process = Process()

    /// Starts a program that `PATH` finds, in a folder.
    init(_ program: String, _ arguments: [String], in folder: TemporaryFolder) throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.currentDirectoryURL = URL(filePath: folder.path)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    /// Ends the program.
    func stop() {
        kill(process.processIdentifier, SIGKILL)
        _ = waitUntil { !process.isRunning }
    }
}
