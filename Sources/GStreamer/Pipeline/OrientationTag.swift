import CGStreamer

/// What a TAG event says about the orientation of a stream's pictures.
public struct OrientationTag: Sendable, Hashable {
    public var orientation: VideoOrientation
    /// It is about all streams of the medium; what a stream's own tag says counts more.
    public var isGlobal: Bool

    /// `nil` for an event that says nothing about it, and for a value that isn't one of the eight.
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

/// The orientation that a stream's tags give its frames, as far as nobody upstream has made them upright.
public struct TaggedOrientation: Sendable, Hashable {
    private var own: VideoOrientation?
    private var global: VideoOrientation?
    /// What is to be done with a frame that says nothing itself.
    public private(set) var pending = VideoOrientation.upright
    /// What an element upstream has done with all frames.
    public private(set) var applied = VideoOrientation.upright

    /// Of a stream that begins.
    public init() {}

    /// Collects the orientation tags that are stored on the sink pad `pad`.
    public init(keptBy pad: Pad) { for tag in pad.orientationTags { add(tag, at: pad) } }

    /// Takes a tag that came by the sink pad `pad`. On the streaming thread: it looks at the elements upstream.
    public mutating func add(_ tag: OrientationTag, at pad: Pad?) {
        if tag.isGlobal { global = tag.orientation } else { own = tag.orientation }
        let orientation = own ?? global ?? .upright
        // GStreamer 1.22's videoflip passes on the tag by which it has turned the frames.
        let isApplied = orientation != .upright && pad?.isTurnedUpstream == true
        (pending, applied) = isApplied ? (.upright, orientation) : (orientation, .upright)
    }
}

extension Pad {
    /// Whether an element upstream turns frames by their tag (`videoflip video-direction=auto`, say) and has been given one.
    public var isTurnedUpstream: Bool { isTurnedUpstream(depth: 0) }

    private func isTurnedUpstream(depth: Int) -> Bool {
        // Source pads keep a tag before it goes on, sink pads only when it has been taken. Where there is none the tag was made
        // further down.
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
    /// A stream's tag.
    static func send(_ orientation: VideoOrientation, into pad: UnsafeMutablePointer<GstPad>) {
        gst_pad_send_event(pad, orientationEvent(orientation, gst_tag_list_new_empty()))
    }

    /// Whatever tags of the stream or the medium say by this source pad about orientation is this instead. Once.
    public func replaceOrientationTags(with orientation: VideoOrientation) {
        gst_pad_add_probe(
            pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
            { _, info, context in
                guard let event = gst_pad_probe_info_get_event(info), event.pointee.type == GST_EVENT_TAG,
                    OrientationTag(event) != nil
                else { return GST_PAD_PROBE_OK }
                var tags: UnsafeMutablePointer<GstTagList>?
                gst_event_parse_tag(event, &tags)
                let told = VideoOrientation(code: Int32(Int(bitPattern: context))) ?? .upright
                let replaced = Pad.orientationEvent(told, gst_tag_list_copy(tags))
                gst_event_set_seqnum(replaced, gst_event_get_seqnum(event))
                gst_event_unref(event)
                info!.pointee.data = UnsafeMutableRawPointer(replaced)
                return GST_PAD_PROBE_OK
            }, UnsafeMutableRawPointer(bitPattern: Int(orientation.code)), nil)
    }

    /// Takes the tags over.
    private static func orientationEvent(
        _ orientation: VideoOrientation, _ tags: UnsafeMutablePointer<GstTagList>?
    ) -> UnsafeMutablePointer<GstEvent> {
        Value(orientation.tag).read { gst_tag_list_add_value(tags, GST_TAG_MERGE_REPLACE, "image-orientation", $0) }
        return gst_event_new_tag(tags)
    }
}
