import GStreamer
import Glibc
import LocalSockets
import MediaGraphElements
import Synchronization

/// PipeWire's device provider (`pipewiredeviceprovider`), which is one for the whole process.
///
/// When 0.3.65 is stopped it closes its connection while its own thread still uses it, which crashes every other program that
/// stops it. So this process keeps the provider running until the server ends. The provider looks for no other server: it has
/// to be started anew then.
package enum PipeWireProvider {
    static let factoryName = "pipewiredeviceprovider"

    /// The server's socket: a new server makes a new one.
    private struct Socket: Sendable, Equatable {
        private let file: UInt64
        private let seconds, nanoseconds: Int

        /// `nil` where there is none, or only what one that was killed has left.
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

    /// Where clients of this process look for their server, in this order (PipeWire's module-protocol-native).
    static var socketPaths: [String] {
        func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        let remote = value("PIPEWIRE_REMOTE") ?? ""
        let name = remote.isEmpty ? "pipewire-0" : remote
        if name.hasPrefix("/") { return [name] }
        let folder = value("PIPEWIRE_RUNTIME_DIR") ?? value("XDG_RUNTIME_DIR") ?? value("USERPROFILE")
        return [folder, "/run/pipewire"].compactMap { $0.map { "\($0)/\(name)" } }
    }

    /// The server whose provider is kept: starts are counted, and one of them is this one's.
    private static let kept = Mutex<Socket?>(nil)

    /// Starts the provider for a caller that stops it later, and once more to keep it running. Returns false without a server:
    /// then the provider isn't started, because when its connection fails, 0.3.65 destroys the context in which the thread
    /// that it has just started may still be running.
    static func start(_ provider: DeviceProvider) -> Bool {
        kept.withLock { kept in
            guard keep(provider, &kept) else { return false }
            return provider.start()
        }
    }

    /// Keeps the provider running for the server that is there now. Returns false without a server, and while others hold a
    /// start from an earlier server: the provider would stay connected to that one.
    private static func keep(_ provider: DeviceProvider, _ kept: inout Socket?) -> Bool {
        let server = Socket.current
        if kept != nil, kept != server {
            provider.stop()
            kept = nil
        }
        if let server, kept == nil, !provider.isStarted, provider.start() { kept = server }
        return kept != nil
    }

    /// What there is of that name.
    package enum Node: Sendable {
        /// A camera, a microphone or a speaker; what it gives or takes, where that is known.
        case device(Caps?)
        case missing
        /// There is no PipeWire to ask.
        case unknown
    }

    /// By what `target-object` says, a `node.name` or a number; with nothing any source. Blocks the first time, until the server
    /// has answered.
    package static func node(_ target: String) -> Node {
        kept.withLock { kept in
            // It may not be installed.
            guard let provider = DeviceProvider(factory: factoryName), keep(provider, &kept) else { return .unknown }
            guard let device = provider.devices.first(where: { $0.isMeant(by: target) }) else { return .missing }
            return .device(target.isEmpty ? nil : device.caps)
        }
    }
}

extension Device {
    fileprivate func isMeant(by target: String) -> Bool {
        guard !target.isEmpty else { return deviceClass.hasSuffix("/Source") }
        return ["node.name", "object.serial", "object.id"].contains { properties?[$0] == target }
    }
}
