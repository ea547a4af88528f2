import CGStreamer

/// One of GStreamer's device providers: V4L2's, PulseAudio's, ALSA's, PipeWire's. There is one of each in a process.
///
/// Each asks a server or drivers, and waits for them: never in a Swift task. `GstDeviceMonitor` asks one behind the other, so
/// that one that hangs holds up all; here each may be asked on a thread of its own.
public final class DeviceProvider: ObjectReference, @unchecked Sendable {
    // `@unchecked Sendable`: as its superclass; the provider locks.
    private var provider: UnsafeMutablePointer<GstDeviceProvider> {
        raw.assumingMemoryBound(to: GstDeviceProvider.self)
    }

    /// What the registry says of one that is installed.
    public struct Factory: Sendable {
        /// `pulsedeviceprovider`
        public let name: String
        /// For people: `PulseAudio Device Provider`.
        public let longName: String
        /// It knows of microphones or speakers, and of cameras.
        public let knowsAudio, knowsVideo: Bool

        fileprivate init(_ feature: UnsafeMutableRawPointer) {
            let factory = OpaquePointer(feature)
            name = takeString(gst_object_get_name(feature.assumingMemoryBound(to: GstObject.self))) ?? ""
            longName = gst_device_provider_factory_get_metadata(factory, "long-name").map { String(cString: $0) } ?? ""
            knowsAudio = gst_device_provider_factory_has_classes(factory, "Audio") != 0
            knowsVideo = gst_device_provider_factory_has_classes(factory, "Video/Source") != 0
        }

        /// Those of cameras and sound, the most preferred first.
        public static var all: [Factory] {
            GStreamerRuntime.initialize()
            let list = gst_device_provider_factory_list_get_device_providers(GST_RANK_MARGINAL)
            defer { gst_plugin_feature_list_free(list) }
            var result: [Factory] = []
            var next = list
            while let item = next {
                result.append(Factory(item.pointee.data))
                next = item.pointee.next
            }
            return result.filter { $0.knowsAudio || $0.knowsVideo }
        }
    }

    /// Loads its plugin; `nil` where that can't be.
    ///
    /// - Parameter factoryName: ``Factory/name``.
    public init?(factory factoryName: String) {
        guard let provider = gst_device_provider_factory_get_by_name(factoryName) else { return nil }
        super.init(taking: UnsafeMutableRawPointer(provider))
    }

    /// Whether it hears of what comes and goes once it is started. One that doesn't looks each time that it is asked.
    public var watches: Bool { gst_device_provider_can_monitor(provider) != 0 }

    /// It begins to look. Starts are counted. False where it can't: there is no such server.
    public func start() -> Bool { gst_device_provider_start(provider) != 0 }

    /// Whether there have been more starts than stops.
    public var isStarted: Bool { gst_device_provider_is_started(provider) != 0 }

    public func stop() { gst_device_provider_stop(provider) }

    /// Those that are there now, in no order.
    public var devices: [Device] {
        let list = gst_device_provider_get_devices(provider)
        defer { g_list_free(list) }
        var result: [Device] = []
        var next = list
        while let item = next {
            result.append(Device(taking: item.pointee.data))
            next = item.pointee.next
        }
        return result
    }

    /// The providers (``Factory/name``) whose devices it has too: a sound server those of ALSA. Known when it is started.
    public var hiddenProviders: [String] {
        guard let names = gst_device_provider_get_hidden_providers(provider) else { return [] }
        defer { g_strfreev(names) }
        return (0..<Int(g_strv_length(names))).map { String(cString: names[$0]!) }
    }

    /// `handler` runs on the provider's thread whenever a device has come, gone or changed. It replaces the one before.
    public func onChange(_ handler: @escaping @Sendable () -> Void) {
        let bus = gst_device_provider_get_bus(provider)
        defer { gst_object_unref(bus) }
        gst_bus_set_sync_handler(
            bus,
            { _, message, context in
                Unmanaged<Handler>.fromOpaque(context!).takeUnretainedValue().body()
                gst_message_unref(message)
                return GST_BUS_DROP
            }, Unmanaged.passRetained(Handler(handler)).toOpaque(),
            { Unmanaged<Handler>.fromOpaque($0!).release() })
    }

    private final class Handler: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
