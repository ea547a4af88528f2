import Foundation

/// An X server with an invisible screen (Xvfb), which runs until this is released.
public final class VirtualDisplay {
    private let server: Process
    /// The display's name, such as ":4711".
    public let name: String
    private var hasEnded = false

    /// Starts a server.
    ///
    /// - Parameter name: the name of a server that has ended and that this server replaces; `nil` for any free name.
    public init(width: Int, height: Int, name: String? = nil) throws {
        struct NoServer: Error {}
        // Servers choose the lowest free number by default. A random high number stays free while a server ends and
        // returns.
        let names = name.map { [$0] } ?? (0..<8).map { _ in ":\(Int.random(in: 1000...9999))" }
        for name in names {
            guard let server = try Self.start(name, width, height) else { continue }
            (self.server, self.name) = (server, name)
            return
        }
        throw NoServer()
    }

    /// Starts a server; returns `nil` if the name is taken.
    private static func start(_ name: String, _ width: Int, _ height: Int) throws -> Process? {
        let server = Process()
        let output = Pipe()
        server.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        // With -noreset, the server doesn't reset itself when its last client leaves.
        server.arguments = [
            "Xvfb", name, "-displayfd", "1", "-screen", "0", "\(width)x\(height)x24", "-noreset", "-nolisten", "tcp",
        ]
        server.standardOutput = output
        server.standardError = FileHandle.nullDevice
        server.standardInput = FileHandle.nullDevice
        try server.run()
        // The server writes its number when it accepts clients.
        return output.fileHandleForReading.availableData.isEmpty ? nil : server
    }

    /// Kills the server, so that clients lose their connections. SIGTERM could make it wait for its clients.
    public func end() {
        // After the first call, another process may have the server's process ID and socket.
        guard !hasEnded else { return }
        hasEnded = true
        kill(server.processIdentifier, SIGKILL)
        server.waitUntilExit()
        // A killed server leaves these files behind.
        let number = name.dropFirst()
        for path in ["/tmp/.X\(number)-lock", "/tmp/.X11-unix/X\(number)"] { unlink(path) }
    }

    /// Suspends the server: it still accepts connections, but answers no client.
    public func hang() { kill(server.processIdentifier, SIGSTOP) }

    deinit { end() }
}
