import CGStreamer

/// The API of a kind of meta. Downstream lists in its answer to an ALLOCATION query those that it understands.
public struct MetaAPI: Sendable, Hashable {
    package let type: GType

    private init(_ type: GType) { self.type = type }

    /// `GstVideoMeta`: strides may be anything.
    public static let video = MetaAPI(gst_video_meta_api_get_type())

    /// Registers an API that buffers don't carry: to list it says something by itself. A filter that gives out buffers of its
    /// own doesn't list it for those behind it. Or finds the API where another copy of this code has registered it.
    public init(listed name: String) {
        GStreamerRuntime.initialize()
        let known = g_type_from_name(name)
        guard known == 0 else {
            type = known
            return
        }
        type = "memory".withCString { memory in
            var tags: [UnsafePointer<CChar>?] = [memory, nil]
            return gst_meta_api_type_register(name, &tags)
        }
    }
}

/// An ALLOCATION query with downstream's answer: valid for the call it was passed to.
public struct AllocationQuery {
    private let raw: UnsafeMutablePointer<GstQuery>

    package init(_ raw: UnsafeMutablePointer<GstQuery>) { self.raw = raw }

    public func lists(_ api: MetaAPI) -> Bool { gst_query_find_allocation_meta(raw, api.type, nil) != 0 }

    public func list(_ api: MetaAPI) { gst_query_add_allocation_meta(raw, api.type, nil) }

    /// Says no longer that `api` is understood.
    public func remove(_ api: MetaAPI) {
        var index: guint = 0
        guard gst_query_find_allocation_meta(raw, api.type, &index) != 0 else { return }
        gst_query_remove_nth_allocation_meta(raw, index)
    }
}

extension BufferAccess {
    /// Gives a smaller picture of `info` that was made of this one the metas that still hold for it, as `videoscale` does:
    /// each decides for itself, and what describes the memory stays behind.
    public func copyMetas(toScaled target: BufferAccess, from info: VideoInfo, to scaled: VideoInfo) {
        var (source, result) = (info.raw, scaled.raw)
        let memory = g_quark_from_string("memory")
        withUnsafeMutablePointer(to: &source) { source in
            withUnsafeMutablePointer(to: &result) { result in
                var transform = GstVideoMetaTransform(in_info: source, out_info: result)
                var state: gpointer?
                while let meta = gst_buffer_iterate_meta(raw, &state) {
                    let kind = meta.pointee.info!
                    guard gst_meta_api_type_has_tag(kind.pointee.api, memory) == 0 else { continue }
                    _ = kind.pointee.transform_func?(
                        target.raw, meta, raw, gst_video_meta_transform_scale_get_quark(), &transform)
                }
            }
        }
    }
}
