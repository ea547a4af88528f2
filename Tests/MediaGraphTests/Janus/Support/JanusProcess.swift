import Foundation
import Synchronization
import TestSupport
import Testing

@testable import MediaGraphJanus

/// A Janus server on loopback, which `scripts/janus` starts: the real server, in a process of its own. Call `stop` at
/// the end.
final class JanusProcess: Sendable {
    /// Whether Janus is installed.
    static var isInstalled: Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/janus")
        }
    }

    struct DidNotStart: Error, CustomStringConvertible {
        let description: String
    }

    let port: UInt16
    let socketPath: String
    private let folder: TemporaryFolder
    private let arguments: [String]
    private let environment: [String: String]
    private let isSecure: Bool
    private let process = Mutex<Process?>(nil)

    /// Starts a server. Returns when it accepts connections.
    ///
    /// - Parameters:
    ///   - options: Further options of `scripts/janus`.
    ///   - environment: Further variables, such as secrets.
    ///   - certificate: A folder with a certificate for HTTPS.
    ///   - hasSocket: Whether there is a Unix socket. If Janus fails to keep it, the script starts Janus twice.
    init(
        _ options: [String] = [], environment: [String: String] = [:], certificate: String? = nil,
        hasSocket: Bool = true
    ) async throws {
        folder = try TemporaryFolder()
        port = try Self.freePort()
        socketPath = folder.file("janus.sock")
        isSecure = certificate != nil
        arguments =
            ["--port", "\(port)"] + (hasSocket ? ["--socket", socketPath] : []) + options
            + (certificate.map { ["--certificate", $0] } ?? [])
        self.environment = environment
        try await start()
    }

    /// The server over HTTP or HTTPS.
    var http: JanusServer { try! JanusServer("\(isSecure ? "https" : "http")://127.0.0.1:\(port)/janus") }
    /// The server's Unix socket.
    var socket: JanusServer { .socket(path: socketPath) }

    /// Starts the server again, with the same addresses.
    func start() async throws {
        let process = Process()
        process.executableURL = URL(filePath: #filePath).appending(path: "../../../../../scripts/janus").standardized
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.environment?["TMPDIR"] = folder.path
        let log = URL(filePath: folder.file("log"))
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        process.standardOutput = try FileHandle(forWritingTo: log)
        process.standardError = process.standardOutput
        process.standardInput = FileHandle.nullDevice
        try process.run()
        self.process.withLock { $0 = process }
        let isUp = try await eventually {
            (try? String(contentsOf: log, encoding: .utf8))?.contains("Janus is ready") == true || !process.isRunning
        }
        guard isUp, process.isRunning else {
            stop()
            throw DidNotStart(description: (try? String(contentsOf: log, encoding: .utf8)) ?? "no log")
        }
    }

    /// Ends the server as a crash would, and waits for its end.
    func stop() {
        let process = process.withLock { process in
            defer { process = nil }
            return process
        }
        guard let process else { return }
        // Other signals would have no effect: the process has inherited the signal mask of a thread of Dispatch.
        signal(SIGKILL, process)
        _ = waitUntil { !process.isRunning }
    }

    /// Suspends the server, or lets it go on. Returns when none of its threads runs any more.
    func setFrozen(_ isFrozen: Bool) {
        guard let process = process.withLock({ $0 }) else { return }
        signal(isFrozen ? SIGSTOP : SIGCONT, process)
        guard isFrozen else { return }
        for server in children(of: process) {
            _ = waitUntil {
                let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(server)/task")) ?? []
                return threads.allSatisfy { thread in
                    let status = try? String(contentsOfFile: "/proc/\(server)/task/\(thread)/status", encoding: .utf8)
                    return status?.contains("State:\tT") == true
                }
            }
        }
    }

    /// Sends a signal to Janus itself, the child of the script.
    private func signal(_ signal: Int32, _ script: Process) {
        for child in children(of: script) { Glibc.kill(child, signal) }
    }

    private func children(of script: Process) -> [Int32] {
        let number = script.processIdentifier
        let children = try? String(contentsOfFile: "/proc/\(number)/task/\(number)/children", encoding: .utf8)
        return (children ?? "").split(separator: " ").compactMap { Int32($0) }
    }

    /// Returns a port of loopback that is free now. It isn't one of those that the system gives to connections, so that it
    /// is still free when a server is started again.
    static func freePort() throws -> UInt16 {
        for _ in 1...100 {
            let port = UInt16.random(in: 20_000..<30_000)
            let number = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(number) }
            var address = loopback(port)
            let result = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if result == 0 { return port }
        }
        throw DidNotStart(description: "no port is free")
    }

    /// Returns whether a program listens at a port of loopback.
    static func accepts(_ port: UInt16) -> Bool {
        let number = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(number) }
        var address = loopback(port)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }
}
