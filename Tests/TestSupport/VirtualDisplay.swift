import Foundation

/// An X server with a screen that nobody sees (Xvfb), as long as this is held.
public final class VirtualDisplay {
    private let server = Process()
    /// Such as ":99".
    public let name: String

    /// - Parameter name: of one that has ended, which this takes the place of; `nil` for any that is free.
    public init(width: Int, height: Int, name: String? = nil) throws {
        let output = Pipe()
        server.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        server.arguments =
            ["Xvfb"] + (name.map { [$0] } ?? []) + [
                "-displayfd", "1", "-screen", "0", "\(width)x\(height)x24", "-noreset", "-nolisten", "tcp",
            ]
        server.standardOutput = output
        server.standardError = FileHandle.nullDevice
        server.standardInput = FileHandle.nullDevice
        try server.run()
        // It says its number when it takes clients. It stays as it is when the last of them has gone.
        let number = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        self.name = ":\(number.trimmingCharacters(in: .whitespacesAndNewlines))"
        struct NoServer: Error {}
        if self.name == ":" { throw NoServer() }
    }

    /// At once: who is connected loses the connection. Asked politely it may wait for its clients.
    public func end() {
        kill(server.processIdentifier, SIGKILL)
        server.waitUntilExit()
    }

    deinit { end() }
}
