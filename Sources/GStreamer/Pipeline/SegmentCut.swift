import CGStreamer

/// Ends a stream of encoded data where its segment ends: demuxers go on to the next key frame, for decoders, which clip what
/// they get.
///
/// In a stream whose pictures aren't in the order in which they are shown, those before the end may refer to one behind it. The
/// first that comes goes on too, with what belongs before that; downstream the segment has no end, because muxers would drop it.
final class SegmentCut {
    // Touched only in the pad's probe, which runs under the pad's stream lock.
    private var last: GstClockTime?
    private var isReordered = false
    private var end: GstClockTime?

    fileprivate func keeps(_ buffer: GstBuffer, in segment: GstSegment) -> Bool {
        let time = buffer.pts
        guard time != .max, segment.format == GST_FORMAT_TIME else { return true }
        if let last, time < last { isReordered = true }
        if buffer.dts != .max, buffer.dts != time { isReordered = true }
        last = time
        guard time >= segment.start else { return false }
        if let end { return time < end }
        guard segment.stop != .max, time >= segment.stop else { return true }
        end = isReordered ? time : segment.stop
        return isReordered
    }

    /// What the last segment has ended is nothing to this one.
    fileprivate func begin() { (last, isReordered, end) = (nil, false, nil) }

    fileprivate static func withoutEnd(_ event: UnsafeMutablePointer<GstEvent>) -> UnsafeMutablePointer<GstEvent> {
        var segment = Segment(event).raw
        segment.stop = .max
        let open = gst_event_new_segment(&segment)!
        gst_event_set_seqnum(open, gst_event_get_seqnum(event))
        return open
    }
}

extension Pad {
    /// Drops the buffers that begin outside of the segment; those without a time pass. For a source pad, before its segment.
    func cutToSegment() -> PadProbe {
        let types = GST_PAD_PROBE_TYPE_BUFFER.rawValue | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM.rawValue
        let probe = gst_pad_add_probe(
            pad, GstPadProbeType(rawValue: types),
            { pad, info, context in
                guard info!.pointee.type.rawValue & GST_PAD_PROBE_TYPE_BUFFER.rawValue != 0 else {
                    guard let event = gst_pad_probe_info_get_event(info), event.pointee.type == GST_EVENT_SEGMENT else {
                        return GST_PAD_PROBE_OK
                    }
                    Unmanaged<SegmentCut>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.begin() }
                    info!.pointee.data = UnsafeMutableRawPointer(SegmentCut.withoutEnd(event))
                    gst_event_unref(event)
                    return GST_PAD_PROBE_OK
                }
                // As the pad's element gave it.
                guard let segment = Segment(passing: pad!) else { return GST_PAD_PROBE_OK }
                let buffer = info!.pointee.data.assumingMemoryBound(to: GstBuffer.self)
                let isKept = Unmanaged<SegmentCut>.fromOpaque(context!)._withUnsafeGuaranteedRef {
                    $0.keeps(buffer.pointee, in: segment.raw)
                }
                return isKept ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP
            }, Unmanaged.passRetained(SegmentCut()).toOpaque(), { Unmanaged<SegmentCut>.fromOpaque($0!).release() })
        return PadProbe(pad: self, id: probe)
    }
}

/// A probe that can be taken away again.
struct PadProbe: Sendable {
    let pad: Pad
    let id: gulong

    func remove() { gst_pad_remove_probe(pad.pad, id) }
}
