import Foundation

/// An X server with a screen that nobody sees (Xvfb), as long as this is held.
public final class VirtualDisplay {
    private let server: Process
    /// Such as ":4711".
    public let name: String
    private var hasEnded = false

    /// - Parameter name: of one that has ended, which this takes the place of; `nil` for any that is free.
    public init(width: Int, height: Int, name: String? = nil) throws {
        struct NoServer: Error {}
        // Not a number that servers choose by themselves, the lowest that is free: one that has ended to come back would lose it.
        let names = name.map { [$0] } ?? (0..<8).map { _ in ":\(Int.random(in: 1000...9999))" }
        for name in names {
            guard let server = try Self.start(name, width, height) else { continue }
            (self.server, self.name) = (server, name)
            return
        }
        throw NoServer()
    }

    /// `nil` where the name is taken.
    private static func start(_ name: String, _ width: Int, _ height: Int) throws -> Process? {
        let server = Process()
        let output = Pipe()
        server.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        // It stays as it is when the last of its clients has gone.
        server.arguments = [
            "Xvfb", name, "-displayfd", "1", "-screen", "0", "\(width)x\(height)x24", "-noreset", "-nolisten", "tcp",
        ]
        server.standardOutput = output
        server.standardError = FileHandle.nullDevice
        server.standardInput = FileHandle.nullDevice
        try server.run()
        // It says its number when it takes clients.
        return output.fileHandleForReading.availableData.isEmpty ? nil : server
    }

    /// At once: who is connected loses the connection. Asked politely it may wait for its clients.
    public func end() {
        // Its process's number and its socket may be others' behind that.
        guard !hasEnded else { return }
        hasEnded = true
        kill(server.processIdentifier, SIGKILL)
        server.waitUntilExit()
        // Killed, it leaves them behind.
        let number = name.dropFirst()
        for path in ["/tmp/.X\(number)-lock", "/tmp/.X11-unix/X\(number)"] { unlink(path) }
    }

    /// From now on it answers nobody, and takes who connects.
    public func hang() { kill(server.processIdentifier, SIGSTOP) }

    deinit { end() }
}
