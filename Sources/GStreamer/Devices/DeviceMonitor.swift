import CGStreamer

/// Asks all device providers of GStreamer what there is, and hears from those that watch.
///
/// A provider that stands for others, as a sound server does for ALSA, hides them. Providers keep the list that they made at
/// the start where they don't watch: ALSA's does.
public final class DeviceMonitor: ObjectReference, @unchecked Sendable {
    // `@unchecked Sendable`: as its superclass; the monitor locks.
    private var monitor: UnsafeMutablePointer<GstDeviceMonitor> { raw.assumingMemoryBound(to: GstDeviceMonitor.self) }

    public init() {
        GStreamerRuntime.initialize()
        super.init(taking: UnsafeMutableRawPointer(gst_device_monitor_new()))
    }

    /// Providers begin to look. It may wait for a server, or for a device to be opened: never in a Swift task. False where
    /// there is no provider at all.
    public func start() -> Bool {
        PipeWireProvider.letStopWithoutServer()
        defer { PipeWireProvider.keepStarted() }
        return gst_device_monitor_start(monitor) != 0
    }

    public func stop() { gst_device_monitor_stop(monitor) }

    /// Those that are there now, in no order.
    public var devices: [Device] {
        let list = gst_device_monitor_get_devices(monitor)
        defer { g_list_free(list) }
        var result: [Device] = []
        var next = list
        while let item = next {
            result.append(Device(taking: item.pointee.data))
            next = item.pointee.next
        }
        return result
    }

    /// `handler` runs on a provider's thread whenever a device has come, gone or changed. Before `start`.
    public func onChange(_ handler: @escaping @Sendable () -> Void) {
        let bus = gst_device_monitor_get_bus(monitor)
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
