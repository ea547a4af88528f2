import CGStreamer

/// The API of a type of meta. In its answer to an ALLOCATION query, downstream lists the APIs that it supports.
package struct MetaAPI: Sendable, Hashable {
    package let type: GType

    private init(_ type: GType) { self.type = type }

    /// `GstVideoMeta`. An element that lists it accepts any strides.
    package static let video = MetaAPI(gst_video_meta_api_get_type())

    /// Registers an API that no meta uses: that an element lists it is the information. Because of the API's tag
    /// `memory`, a filter that allocates its own output doesn't pass it on upstream. If another copy of this code in
    /// the process has registered the API, looks it up instead.
    package init(listed name: String) {
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

/// An ALLOCATION query and its answer. Valid only during the call that it was passed to.
public struct AllocationQuery {
    private let raw: UnsafeMutablePointer<GstQuery>

    package init(_ raw: UnsafeMutablePointer<GstQuery>) { self.raw = raw }

    /// Returns whether the answer lists `api`.
    package func lists(_ api: MetaAPI) -> Bool { gst_query_find_allocation_meta(raw, api.type, nil) != 0 }

    /// Adds `api` to the answer.
    package func list(_ api: MetaAPI) { gst_query_add_allocation_meta(raw, api.type, nil) }

    /// Removes `api` from the answer.
    package func remove(_ api: MetaAPI) {
        var index: guint = 0
        guard gst_query_find_allocation_meta(raw, api.type, &index) != 0 else { return }
        gst_query_remove_nth_allocation_meta(raw, index)
    }
}

extension BufferAccess {
    /// Copies the buffer's metas to `target`, a scaled copy of the picture, as `videoscale` does. Each meta's transform
    /// function decides whether and how it is copied. Metas that describe the memory aren't copied.
    package func copyMetas(toScaled target: BufferAccess, from info: VideoInfo, to scaled: VideoInfo) {
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
