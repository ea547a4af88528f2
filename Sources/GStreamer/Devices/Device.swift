import CGStreamer

/// A camera, a microphone or a speaker that one of GStreamer's device providers has found (`GstDevice`).
package final class Device: ObjectReference, @unchecked Sendable {
    // `@unchecked Sendable`: like the superclass; a `GstDevice` never changes.
    private var device: UnsafeMutablePointer<GstDevice> { raw.assumingMemoryBound(to: GstDevice.self) }

    /// The name that people read.
    package var displayName: String { takeString(gst_device_get_display_name(device)) ?? "" }

    /// The kind of device, such as "Video/Source" or "Audio/Sink".
    package var deviceClass: String { takeString(gst_device_get_device_class(device)) ?? "" }

    /// The formats that the device offers or accepts; `nil` if the provider doesn't know them.
    package var caps: Caps? { gst_device_get_caps(device).map(Caps.init(taking:)) }

    /// Further facts from the provider, which also chooses the field names; `nil` if there are none.
    package var properties: Structure? { gst_device_get_properties(device).map(Structure.init(taking:)) }

    /// Creates an element that is set to this device; `nil` if the provider can't create one.
    package func makeElement() -> Element? { gst_device_create_element(device, nil).map { Element(taking: $0) } }
}
