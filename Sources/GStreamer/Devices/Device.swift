import CGStreamer

/// A camera, a microphone or a speaker that one of GStreamer's device providers has found.
public final class Device: ObjectReference, @unchecked Sendable {
    // `@unchecked Sendable`: as its superclass; what a device says of itself never changes.
    private var device: UnsafeMutablePointer<GstDevice> { raw.assumingMemoryBound(to: GstDevice.self) }

    /// For people.
    public var displayName: String { takeString(gst_device_get_display_name(device)) ?? "" }

    /// Such as "Video/Source" or "Audio/Sink".
    public var deviceClass: String { takeString(gst_device_get_device_class(device)) ?? "" }

    /// What it gives or takes; `nil` where its provider doesn't know.
    public var caps: Caps? { gst_device_get_caps(device).map(Caps.init(taking:)) }

    /// What else its provider knows of it; the names are the provider's.
    public var properties: Structure? { gst_device_get_properties(device).map(Structure.init(taking:)) }

    /// A new element that is set to this device.
    public func makeElement() -> Element? { gst_device_create_element(device, nil).map { Element(taking: $0) } }
}
