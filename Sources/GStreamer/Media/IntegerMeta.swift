import CGStreamer

/// A registered `GstMeta` that contains one integer and follows its buffer through copies and transforms.
///
/// The meta's API has no tags, so elements that don't know the meta copy it.
package struct IntegerMeta: @unchecked Sendable {
    // `@unchecked Sendable`: points to a registration that exists as long as the process.
    @usableFromInline let info: UnsafePointer<GstMetaInfo>

    @usableFromInline
    struct Layout {
        @usableFromInline var meta: GstMeta
        @usableFromInline var value: Int32
    }

    /// Registers the meta, or looks it up if another copy of this code in the process has registered it.
    package init(name: String) {
        GStreamerRuntime.initialize()
        if let known = gst_meta_get_info(name) {
            info = known
            return
        }
        var tags: UnsafePointer<CChar>?
        let api = withUnsafeMutablePointer(to: &tags) { gst_meta_api_type_register(name + "API", $0) }
        info = gst_meta_register(
            api, name, gsize(MemoryLayout<Layout>.size),
            { meta, _, _ in
                UnsafeMutableRawPointer(meta!).assumingMemoryBound(to: Layout.self).pointee.value = 0
                return 1
            }, nil,
            { destination, meta, _, type, _ in
                // Every transform keeps the value: GStreamer 1.22 has only copying and, for raw video, scaling.
                let value = UnsafeMutableRawPointer(meta!).assumingMemoryBound(to: Layout.self).pointee.value
                let copy =
                    gst_buffer_get_meta(destination, meta!.pointee.info.pointee.api)
                    ?? gst_buffer_add_meta(destination, meta!.pointee.info, nil)
                guard let copy else { return 0 }
                UnsafeMutableRawPointer(copy).assumingMemoryBound(to: Layout.self).pointee.value = value
                return 1
            })
    }

    /// Returns the meta's value; `nil` if the buffer doesn't have the meta.
    @inlinable
    package func value(of buffer: BufferAccess) -> Int32? {
        guard let meta = gst_buffer_get_meta(buffer.raw, info.pointee.api) else { return nil }
        return UnsafeMutableRawPointer(meta).assumingMemoryBound(to: Layout.self).pointee.value
    }

    /// Sets the meta's value, and adds the meta if the buffer doesn't have it. The buffer must be writable.
    package func set(_ value: Int32, on buffer: BufferAccess) {
        let meta = gst_buffer_get_meta(buffer.raw, info.pointee.api) ?? gst_buffer_add_meta(buffer.raw, info, nil)
        guard let meta else { return }
        UnsafeMutableRawPointer(meta).assumingMemoryBound(to: Layout.self).pointee.value = value
    }
}
