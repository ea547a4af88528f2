import CGStreamer

/// Limits a stream of encoded data to its segment. A demuxer sends data up to the next key frame, because it relies on a
/// decoder to clip what it decodes.
///
/// Where pictures aren't sent in display order, one inside the segment may refer to one after its end. So the first picture
/// after the end is kept, with those displayed before it. The segment sent downstream has no end: a muxer would otherwise
/// drop that picture.
final class SegmentCut {
    // Touched only in the pad's probe, which runs under the pad's stream lock.
    private var last: GstClockTime?
    private var isReordered = false
    private var end: GstClockTime?
    /// A key frame has been kept. Delta frames before it would refer to dropped ones.
    private var hasBegun = false
    /// Frames inside the segment were dropped, for want of a key frame before them.
    private var hasDropped = false

    /// Nothing inside the segment could be kept.
    fileprivate var lacksKeyFrame: Bool { hasDropped && !hasBegun }

    fileprivate func keeps(_ buffer: GstBuffer, in segment: GstSegment) -> Bool {
        let time = buffer.pts
        guard time != .max, segment.format == GST_FORMAT_TIME else { return true }
        if let last, time < last { isReordered = true }
        if buffer.dts != .max, buffer.dts != time { isReordered = true }
        last = time
        guard time >= segment.start else { return false }
        if segment.stop != .max, time >= segment.stop, !hasBegun { return false }
        // Some demuxers' segments start after the key frame. Drop delta frames until the next one.
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

    fileprivate static func withoutEnd(_ event: UnsafeMutablePointer<GstEvent>) -> UnsafeMutablePointer<GstEvent> {
        var segment = Segment(event).raw
        segment.stop = .max
        let open = gst_event_new_segment(&segment)!
        gst_event_set_seqnum(open, gst_event_get_seqnum(event))
        return open
    }
}

extension Pad {
    /// Drops the buffers that begin outside the segment, except a picture after its end that earlier ones may need (see
    /// `SegmentCut`). Buffers without a timestamp pass. Call it on a source pad before the segment arrives.
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
            // As the pad's element gave it.
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
            "\(element.name): the part to play has no key frame of \(name); choose an earlier start or a later end, or decode the stream"
        )
    }
}
