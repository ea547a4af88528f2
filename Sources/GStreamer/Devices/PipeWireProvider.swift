import CGStreamer
import Glibc
import Synchronization

/// PipeWire's device provider (`pipewiredeviceprovider`), which is one for the whole process.
///
/// In 0.3.65 it pulls its connection down under its own thread's feet when it is stopped: every other program dies of that which
/// looks at devices and has done. Once it has begun it goes on here, until its server is gone: then it has to be started anew, for
/// it looks for no other.
public enum PipeWireProvider {
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
    public static var socketPaths: [String] {
        func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        let remote = value("PIPEWIRE_REMOTE") ?? ""
        let name = remote.isEmpty ? "pipewire-0" : remote
        if name.hasPrefix("/") { return [name] }
        let folder = value("PIPEWIRE_RUNTIME_DIR") ?? value("XDG_RUNTIME_DIR") ?? value("USERPROFILE")
        return [folder, "/run/pipewire"].compactMap { $0.map { "\($0)/\(name)" } }
    }

    /// The server whose provider is kept: starts are counted, and one of them is this one's.
    private static let kept = Mutex<Socket?>(nil)

    /// For whoever has started it.
    static func keepStarted() {
        with { provider, kept in
            guard kept == nil, gst_device_provider_is_started(provider) != 0, let server = Socket.current else {
                return
            }
            if gst_device_provider_start(provider) != 0 { kept = server }
        }
    }

    /// Where its server has ended, whoever starts it next finds another. Returns false where there is none: then the provider
    /// isn't to be started, for when its connection fails, 0.3.65 destroys the context in which the thread that it has just
    /// started may still be running.
    static func prepareStart() -> Bool {
        with { provider, kept in
            let server = Socket.current
            letStop(provider, &kept, unless: server)
            return server != nil
        } ?? false
    }

    private static func letStop(
        _ provider: UnsafeMutablePointer<GstDeviceProvider>, _ kept: inout Socket?, unless server: Socket?
    ) {
        guard kept != nil, kept != server else { return }
        gst_device_provider_stop(provider)
        kept = nil
    }

    /// What there is of that name.
    public enum Node: Sendable {
        /// A camera, a microphone or a speaker; what it gives or takes, where that is known.
        case device(Caps?)
        case missing
        /// There is no PipeWire to ask.
        case unknown
    }

    /// By what `target-object` says, a `node.name` or a number; with nothing any source. Blocks the first time, until the server
    /// has answered.
    public static func node(_ target: String) -> Node {
        with { provider, kept in
            let server = Socket.current
            letStop(provider, &kept, unless: server)
            guard let server else { return .unknown }
            if kept == nil, gst_device_provider_start(provider) != 0 { kept = server }
            guard kept != nil else { return .unknown }
            let list = gst_device_provider_get_devices(provider)
            defer { g_list_free_full(list, gst_object_unref) }
            var next = list
            while let item = next {
                let device = Device(retaining: item.pointee.data)
                if device.isMeant(by: target) { return .device(target.isEmpty ? nil : device.caps) }
                next = item.pointee.next
            }
            return .missing
        } ?? .unknown
    }

    /// `nil` where it isn't installed.
    private static func with<Result>(
        _ body: (UnsafeMutablePointer<GstDeviceProvider>, inout Socket?) -> Result
    ) -> Result? {
        kept.withLock { kept in
            guard let provider = gst_device_provider_factory_get_by_name(factoryName) else { return nil }
            defer { gst_object_unref(provider) }
            return body(provider, &kept)
        }
    }
}

extension Device {
    fileprivate func isMeant(by target: String) -> Bool {
        guard !target.isEmpty else { return deviceClass.hasSuffix("/Source") }
        return ["node.name", "object.serial", "object.id"].contains { properties?[$0] == target }
    }
}
