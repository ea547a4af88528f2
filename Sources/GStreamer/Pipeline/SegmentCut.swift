import CGStreamer

/// Limits a stream of encoded data to its segment. A demuxer sends more data, up to the next key frame, because it
/// expects a decoder to clip the result.
///
/// If pictures aren't sent in display order, a picture inside of the segment may refer to one after its end. So the
/// first picture after the end is kept, and the pictures that are displayed before it. The segment that is sent
/// downstream has no end, because a muxer would otherwise drop that picture.
final class SegmentCut {
    // Accessed only in the pad's probe, which runs with the pad's stream lock held.
    private var last: GstClockTime?
    private var isReordered = false
    private var end: GstClockTime?
    /// Whether a key frame has been kept. Delta frames before it would refer to dropped frames.
    private var hasBegun = false
    /// Whether frames inside of the segment were dropped because no key frame preceded them.
    private var hasDropped = false

    /// Whether all frames inside of the segment had to be dropped for lack of a key frame.
    fileprivate var lacksKeyFrame: Bool { hasDropped && !hasBegun }

    /// Returns whether a buffer is sent downstream.
    fileprivate func keeps(_ buffer: GstBuffer, in segment: GstSegment) -> Bool {
        let time = buffer.pts
        guard time != .max, segment.format == GST_FORMAT_TIME else { return true }
        if let last, time < last { isReordered = true }
        if buffer.dts != .max, buffer.dts != time { isReordered = true }
        last = time
        guard time >= segment.start else { return false }
        if segment.stop != .max, time >= segment.stop, !hasBegun { return false }
        // The segments of some demuxers start after the key frame. Drop delta frames until the next key frame.
        hasBegun = hasBegun || buffer.mini_object.flags & GST_BUFFER_FLAG_DELTA_UNIT.rawValue == 0
        guard hasBegun else {
            hasDropped = true
            return false
        }
        if let end { return time < end }
        guard segment.stop != .max, time >= segment.stop else { return true }
        end = isReordered ? time : segment.stop
        return isReordered
    }

    /// Starts over for a new segment.
    fileprivate func begin() { (last, isReordered, end, hasBegun, hasDropped) = (nil, false, nil, false, false) }

    /// Returns a copy of a SEGMENT event without an end.
    fileprivate static func withoutEnd(_ event: UnsafeMutablePointer<GstEvent>) -> UnsafeMutablePointer<GstEvent> {
        var segment = Segment(event).raw
        segment.stop = .max
        let open = gst_event_new_segment(&segment)!
        gst_event_set_seqnum(open, gst_event_get_seqnum(event))
        return open
    }
}

extension Pad {
    /// Drops the buffers that begin outside of the segment, except a picture after its end to which others may refer
    /// (see `SegmentCut`). Buffers without a timestamp pass. Call it on a source pad before the segment arrives.
    func cutToSegment() -> PadProbe {
        addProbe(GST_PAD_PROBE_TYPE_BUFFER, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, holding: SegmentCut()) {
            pad, info, context in
            guard info!.pointee.type.rawValue & GST_PAD_PROBE_TYPE_BUFFER.rawValue != 0 else {
                guard let event = gst_pad_probe_info_get_event(info) else { return GST_PAD_PROBE_OK }
                Unmanaged<SegmentCut>.fromOpaque(context!)._withUnsafeGuaranteedRef { cut in
                    switch event.pointee.type {
                    case GST_EVENT_SEGMENT:
                        cut.begin()
                        info!.pointee.data = UnsafeMutableRawPointer(SegmentCut.withoutEnd(event))
                        gst_event_unref(event)
                    case GST_EVENT_EOS where cut.lacksKeyFrame: Pad(retaining: pad!).postLackOfKeyFrame()
                    default: break
                    }
                }
                return GST_PAD_PROBE_OK
            }
            // The pad stores the segment as its element sent it, with the end.
            guard let segment = Segment(passing: pad!) else { return GST_PAD_PROBE_OK }
            let buffer = info!.pointee.data.assumingMemoryBound(to: GstBuffer.self)
            let isKept = Unmanaged<SegmentCut>.fromOpaque(context!)._withUnsafeGuaranteedRef {
                $0.keeps(buffer.pointee, in: segment.raw)
            }
            return isKept ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP
        }
    }

    private func postLackOfKeyFrame() {
        guard let element = parent else { return }
        element.postError(
            .settings,
            "\(element.name): the part to play has no key frame on pad \(name); "
                + "choose an earlier start or a later end, or decode the stream"
        )
    }
}
