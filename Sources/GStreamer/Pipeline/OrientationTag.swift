import CGStreamer

/// The orientation of a stream's pictures, from a TAG event.
public struct OrientationTag: Sendable, Hashable {
    package var orientation: VideoOrientation
    /// Whether the tag is for all streams of the medium. The tag of a single stream overrides it.
    package var isGlobal: Bool

    /// Reads a TAG event; `nil` if it has no `image-orientation`, or another value than the eight that GStreamer
    /// defines.
    init?(_ event: UnsafeMutablePointer<GstEvent>) {
        var tags: UnsafeMutablePointer<GstTagList>?
        gst_event_parse_tag(event, &tags)
        var text: UnsafePointer<CChar>?
        guard gst_tag_list_peek_string_index(tags, "image-orientation", 0, &text) != 0, let text,
            let orientation = VideoOrientation(tag: String(cString: text))
        else { return nil }
        self.orientation = orientation
        isGlobal = gst_tag_list_get_scope(tags) == GST_TAG_SCOPE_GLOBAL
    }
}

/// The orientation that a stream's tags state, divided into the part that is still to be applied to the frames and the
/// part that an element upstream has applied.
@usableFromInline
package struct TaggedOrientation: Sendable, Hashable {
    private var own: VideoOrientation?
    private var global: VideoOrientation?
    /// The orientation still to be applied to a frame that has none of its own.
    @usableFromInline package private(set) var pending = VideoOrientation.upright
    /// The orientation that an element upstream has applied to all frames.
    @usableFromInline package private(set) var applied = VideoOrientation.upright

    /// Creates the orientation of a stream that begins: upright.
    package init() {}

    /// Creates an orientation from the tags that are stored on a sink pad.
    package init(keptBy pad: Pad) { for tag in pad.orientationTags { add(tag, at: pad) } }

    /// Follows an event that has arrived at the sink pad `pad`: a new stream or a tag. Call it on the streaming thread.
    mutating func follow(_ event: UnsafeMutablePointer<GstEvent>, at pad: UnsafeMutablePointer<GstPad>) {
        switch event.pointee.type {
        case GST_EVENT_STREAM_START: self = TaggedOrientation()
        case GST_EVENT_TAG:
            guard let tag = OrientationTag(event) else { return }
            add(tag, at: Pad(retaining: UnsafeMutableRawPointer(pad)))
        default: break
        }
    }

    /// Applies a tag that has arrived at the sink pad `pad`. Call it on the streaming thread, because it examines the
    /// elements upstream.
    package mutating func add(_ tag: OrientationTag, at pad: Pad?) {
        if tag.isGlobal { global = tag.orientation } else { own = tag.orientation }
        let orientation = own ?? global ?? .upright
        // The videoflip of GStreamer 1.22 forwards the tag by which it has turned the frames.
        let isApplied = orientation != .upright && pad?.isTurnedUpstream == true
        (pending, applied) = isApplied ? (.upright, orientation) : (orientation, .upright)
    }
}

extension Pad {
    /// Whether an element upstream turns frames by their tag, such as `videoflip video-direction=auto`, and has
    /// received a tag.
    package var isTurnedUpstream: Bool { isTurnedUpstream(depth: 0) }

    private func isTurnedUpstream(depth: Int) -> Bool {
        // A source pad stores a tag before it is sent, a sink pad only after its element has accepted it. If the peer
        // has no tag, an element further downstream has created it.
        guard depth < 1000, let peer, peer.hasOrientationTag else { return false }
        return peer.internalLinks.contains { inlet in
            inlet.parent?.turnsByTag == true && inlet.peer?.hasOrientationTag == true
                || inlet.isTurnedUpstream(depth: depth + 1)
        }
    }

    private var hasOrientationTag: Bool { !orientationTags.isEmpty }

    /// The orientation tags stored on this pad: the stream's and the medium's.
    fileprivate var orientationTags: [OrientationTag] {
        var tags: [OrientationTag] = []
        var index: guint = 0
        while let event = gst_pad_get_sticky_event(pad, GST_EVENT_TAG, index) {
            defer { gst_event_unref(event) }
            if let tag = OrientationTag(event) { tags.append(tag) }
            index += 1
        }
        return tags
    }
}

extension Element {
    fileprivate var turnsByTag: Bool {
        let direction = g_type_from_name("GstVideoDirection")
        let instance = raw.assumingMemoryBound(to: GTypeInstance.self)
        guard direction != 0, g_type_check_instance_is_a(instance, direction) != 0 else { return false }
        return (try? propertyText("video-direction")) == "auto"
    }
}

extension Pad {
    /// Sends the tag of a stream into a sink pad.
    static func send(_ orientation: VideoOrientation, into pad: UnsafeMutablePointer<GstPad>) {
        gst_pad_send_event(pad, orientationEvent(orientation, gst_tag_list_new_empty()))
    }

    /// Replaces the orientation in all tags that pass this source pad, of the stream and of the medium. Call it once.
    package func replaceOrientationTags(with orientation: VideoOrientation) {
        gst_pad_add_probe(
            pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
            { _, info, context in
                guard let event = gst_pad_probe_info_get_event(info), event.pointee.type == GST_EVENT_TAG,
                    OrientationTag(event) != nil
                else { return GST_PAD_PROBE_OK }
                var tags: UnsafeMutablePointer<GstTagList>?
                gst_event_parse_tag(event, &tags)
                let replacement = VideoOrientation(code: Int32(Int(bitPattern: context))) ?? .upright
                let replaced = Pad.orientationEvent(replacement, gst_tag_list_copy(tags))
                gst_event_set_seqnum(replaced, gst_event_get_seqnum(event))
                gst_event_unref(event)
                info!.pointee.data = UnsafeMutableRawPointer(replaced)
                return GST_PAD_PROBE_OK
            }, UnsafeMutableRawPointer(bitPattern: Int(orientation.code)), nil)
    }

    /// Returns a TAG event with `tags`, which it consumes, and the orientation.
    private static func orientationEvent(
        _ orientation: VideoOrientation, _ tags: UnsafeMutablePointer<GstTagList>?
    ) -> UnsafeMutablePointer<GstEvent> {
        Value(orientation.tag).read { gst_tag_list_add_value(tags, GST_TAG_MERGE_REPLACE, "image-orientation", $0) }
        return gst_event_new_tag(tags)
    }
}
