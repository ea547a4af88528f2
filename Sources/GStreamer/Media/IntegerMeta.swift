import CGStreamer

/// A registered `GstMeta` with one integer in it, which follows a buffer through copies and transforms.
///
/// It has no tags, so elements that know nothing of it copy it along.
public struct IntegerMeta: @unchecked Sendable {
    // `@unchecked Sendable`: points to a registration that lives as long as the process.
    @usableFromInline let info: UnsafePointer<GstMetaInfo>

    @usableFromInline
    struct Layout {
        @usableFromInline var meta: GstMeta
        @usableFromInline var value: Int32
    }

    /// Registers the meta, or finds it where another copy of this code has done so.
    public init(name: String) {
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
                // A copy keeps the value; anything else (there is nothing else in 1.22 for raw video but scaling) too.
                let value = UnsafeMutableRawPointer(meta!).assumingMemoryBound(to: Layout.self).pointee.value
                let copy =
                    gst_buffer_get_meta(destination, meta!.pointee.info.pointee.api)
                    ?? gst_buffer_add_meta(destination, meta!.pointee.info, nil)
                guard let copy else { return 0 }
                UnsafeMutableRawPointer(copy).assumingMemoryBound(to: Layout.self).pointee.value = value
                return 1
            })
    }

    @inlinable
    public func value(of buffer: BufferAccess) -> Int32? {
        guard let meta = gst_buffer_get_meta(buffer.raw, info.pointee.api) else { return nil }
        return UnsafeMutableRawPointer(meta).assumingMemoryBound(to: Layout.self).pointee.value
    }

    /// The buffer must be writable.
    public func set(_ value: Int32, on buffer: BufferAccess) {
        let meta = gst_buffer_get_meta(buffer.raw, info.pointee.api) ?? gst_buffer_add_meta(buffer.raw, info, nil)
        guard let meta else { return }
        UnsafeMutableRawPointer(meta).assumingMemoryBound(to: Layout.self).pointee.value = value
    }
}
