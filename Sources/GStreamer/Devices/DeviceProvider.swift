import CGStreamer

/// A device provider of GStreamer (`GstDeviceProvider`), such as those of V4L2, PulseAudio, ALSA and PipeWire. A
/// process has one instance of each.
///
/// A provider waits for the answers of a server or of drivers, so never call it in a Swift task. `GstDeviceMonitor`
/// asks all providers in turn, and one that hangs blocks the others; with this class, each provider can have its own
/// thread.
package final class DeviceProvider: ObjectReference, @unchecked Sendable {
    // `@unchecked Sendable`: like the superclass; a `GstDeviceProvider` has its own locks.
    private var provider: UnsafeMutablePointer<GstDeviceProvider> {
        raw.assumingMemoryBound(to: GstDeviceProvider.self)
    }

    /// An installed provider, as GStreamer's registry describes it.
    package struct Factory: Sendable {
        /// The factory's name, such as `pulsedeviceprovider`.
        package let name: String
        /// The name that people read, such as `PulseAudio Device Provider`.
        package let longName: String
        /// Whether the provider finds microphones or speakers, and whether it finds cameras.
        package let knowsAudio, knowsVideo: Bool

        fileprivate init(_ feature: UnsafeMutableRawPointer) {
            let factory = OpaquePointer(feature)
            name = takeString(gst_object_get_name(feature.assumingMemoryBound(to: GstObject.self))) ?? ""
            longName = gst_device_provider_factory_get_metadata(factory, "long-name").map { String(cString: $0) } ?? ""
            knowsAudio = gst_device_provider_factory_has_classes(factory, "Audio") != 0
            knowsVideo = gst_device_provider_factory_has_classes(factory, "Video/Source") != 0
        }

        /// The factories of all providers that find cameras, microphones or speakers, by rank, highest first.
        package static var all: [Factory] {
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

    /// Returns the provider of a factory, and loads its plugin; `nil` if the plugin can't be loaded.
    ///
    /// - Parameter factoryName: the ``Factory/name``.
    package init?(factory factoryName: String) {
        guard let provider = gst_device_provider_factory_get_by_name(factoryName) else { return nil }
        super.init(taking: UnsafeMutableRawPointer(provider))
    }

    /// Whether a started provider notices that devices appear and disappear. Other providers probe each time that they
    /// are asked.
    package var watches: Bool { gst_device_provider_can_monitor(provider) != 0 }

    /// Starts watching. Starts are counted, and each needs a `stop()`. False if the provider can't start, for example
    /// because its server isn't running.
    package func start() -> Bool { gst_device_provider_start(provider) != 0 }

    /// Whether `start()` has been called more often than `stop()`.
    package var isStarted: Bool { gst_device_provider_is_started(provider) != 0 }

    /// Undoes one `start()`.
    package func stop() { gst_device_provider_stop(provider) }

    /// The devices that are present now, in no particular order.
    package var devices: [Device] {
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

    /// The names (``Factory/name``) of the providers whose devices this one lists too: a sound server lists those of
    /// ALSA. Known once the provider is started.
    package var hiddenProviders: [String] {
        guard let names = gst_device_provider_get_hidden_providers(provider) else { return [] }
        defer { g_strfreev(names) }
        return (0..<Int(g_strv_length(names))).map { String(cString: names[$0]!) }
    }

    /// Calls `handler` on the provider's thread whenever a device has appeared, disappeared or changed. Replaces the
    /// previous handler.
    package func onChange(_ handler: @escaping @Sendable () -> Void) {
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
