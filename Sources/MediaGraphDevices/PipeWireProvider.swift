import GStreamer
import Glibc
import LocalSockets
import MediaGraphCore
import MediaGraphElements

/// PipeWire's device provider (`pipewiredeviceprovider`), of which the process has one.
///
/// When the provider of PipeWire 0.3.65 is stopped, it closes its connection while its own thread still uses it, and
/// crashes the program. So this process keeps the provider running until the server ends. The provider doesn't look for
/// a new server by itself; it must be restarted then.
package enum PipeWireProvider {
    static let factoryName = "pipewiredeviceprovider"

    /// Identifies the server's socket. A new server creates a new socket.
    private struct Socket: Sendable, Equatable {
        private let file: UInt64
        private let seconds, nanoseconds: Int

        /// The current server's socket; `nil` if there is none, or only the file that a killed server left behind.
        static var current: Socket? {
            for path in socketPaths {
                var status = stat()
                if stat(path, &status) == 0, !LocalSocket.isAbandoned(path, isStream: true) { return Socket(status) }
            }
            return nil
        }

        private init(_ status: stat) {
            file = UInt64(status.st_ino)
            (seconds, nanoseconds) = (status.st_ctim.tv_sec, status.st_ctim.tv_nsec)
        }
    }

    /// The paths where PipeWire clients look for the server, in this order (PipeWire's module-protocol-native).
    static var socketPaths: [String] {
        func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        let remote = value("PIPEWIRE_REMOTE") ?? ""
        let name = remote.isEmpty ? "pipewire-0" : remote
        if name.hasPrefix("/") { return [name] }
        let folder = value("PIPEWIRE_RUNTIME_DIR") ?? value("XDG_RUNTIME_DIR") ?? value("USERPROFILE")
        return [folder, "/run/pipewire"].compactMap { $0.map { "\($0)/\(name)" } }
    }

    /// The server for which the provider is kept running. The provider counts its starts; one of them keeps it running.
    private static let kept = TimedTurn<Socket?>(nil)

    /// How long a thread waits for the server, or for a thread that waits for it. Shorter than the time in which a
    /// device has to be opened, so that the error names PipeWire.
    private static let timeLimit = Duration.seconds(3)

    /// Starts the provider for a caller that stops it later, and once more to keep it running. Returns false if there
    /// is no server, or if another thread waits for the server for too long. May itself wait for the server. The provider isn't started then: when its connection fails, 0.3.65 destroys the context in which
    /// the thread that it has just started may still be running.
    static func start(_ provider: DeviceProvider) -> Bool {
        let hasStarted = kept.take(within: timeLimit) { kept in
            guard keep(provider, &kept) else { return false }
            return provider.start()
        }
        return hasStarted ?? false
    }

    /// Keeps the provider running for the current server. Returns false if there is no server, or while other callers
    /// hold a start from an earlier server: the provider would stay connected to that one.
    private static func keep(_ provider: DeviceProvider, _ kept: inout Socket?) -> Bool {
        let server = Socket.current
        if kept != nil, kept != server {
            provider.stop()
            kept = nil
        }
        if let server, kept == nil, !provider.isStarted, provider.start() { kept = server }
        return kept != nil
    }

    /// The result of looking up a node.
    package enum Node: Sendable {
        /// A camera, a microphone or a speaker, with the caps that it produces or accepts; `nil` if they aren't known.
        case device(Caps?)
        /// There is no such node.
        case missing
        /// PipeWire isn't available.
        case unknown
        /// The server is there, but doesn't answer.
        case unanswered
    }

    /// The error for a server that doesn't answer.
    package static func unanswered(_ device: String) -> MediaGraphError {
        .timeOut(
            .init(
                device,
                actual:
                    "PipeWire didn't answer within \(Int(timeLimit.seconds)) s; restart it, as with: systemctl --user restart pipewire wireplumber"
            ))
    }

    /// Looks up a node by the value of `target-object`: a `node.name` or a number. An empty text stands for any source.
    /// The first call blocks until the server has answered, but no longer than the limit.
    package static func node(_ target: String) -> Node {
        let call = DeviceCall {
            kept.take(within: timeLimit) { kept -> Node in
                // The provider may not be installed.
                guard let provider = DeviceProvider(factory: factoryName), keep(provider, &kept) else {
                    return .unknown
                }
                guard let device = provider.devices.first(where: { $0.matches(target) }) else { return .missing }
                return .device(target.isEmpty ? nil : device.caps)
            }
        }
        return (call.answer(within: timeLimit) ?? nil) ?? .unanswered
    }
}

extension Device {
    fileprivate func matches(_ target: String) -> Bool {
        guard !target.isEmpty else { return deviceClass.hasSuffix("/Source") }
        return ["node.name", "object.serial", "object.id"].contains { properties?[$0] == target }
    }
}
