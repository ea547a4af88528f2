import CGStreamer

/// A stream's segment (`GstSegment`), which maps timestamps to running time and stream time. A value.
public struct Segment: Equatable, @unchecked Sendable {
    // `@unchecked Sendable`: contains numbers; its only pointers are GStreamer's padding.
    package var raw: GstSegment

    package init(_ raw: GstSegment) { self.raw = raw }

    /// Creates the segment of a SEGMENT event.
    init(_ event: UnsafeMutablePointer<GstEvent>) {
        raw = GstSegment()
        gst_event_copy_segment(event, &raw)
    }

    /// Creates the last segment that has passed a pad; `nil` if none has.
    init?(passing pad: UnsafeMutablePointer<GstPad>) {
        guard let event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0) else { return nil }
        defer { gst_event_unref(event) }
        self.init(event)
    }

    /// The segment of a stream that has sent no SEGMENT event yet: no timestamp has a running time.
    // Computed: for a stored property, Swift 6.3 in release mode makes a global of 112 bytes for a segment of 120
    // bytes, and reads beyond it.
    package static var undefined: Segment { Segment(GstSegment()) }

    /// Creates a segment in time format in which each timestamp is its own running time.
    package init() {
        raw = GstSegment()
        gst_segment_init(&raw, GST_FORMAT_TIME)
    }

    /// Creates a SEGMENT event, which the caller owns.
    package func newEvent() -> UnsafeMutablePointer<GstEvent> {
        withUnsafePointer(to: raw) { gst_event_new_segment($0) }
    }

    /// Whether all fields of two segments are equal (`gst_segment_is_equal`).
    public static func == (a: Segment, b: Segment) -> Bool {
        withUnsafePointer(to: a.raw) { a in withUnsafePointer(to: b.raw) { gst_segment_is_equal(a, $0) != 0 } }
    }

    /// Returns a segment in which the running time of each timestamp is later by `nanoseconds` (earlier if negative).
    ///
    /// Timestamps whose running time would be negative are then before the segment's start, so that elements clip them.
    /// `gst_segment_offset_running_time` leaves them inside the segment without a running time, on which compositor
    /// 1.22 aborts.
    package func shifted(byNanoseconds nanoseconds: Int64) -> Segment {
        var shifted = self
        if nanoseconds >= 0 || shifted.raw.base >= nanoseconds.magnitude {
            shifted.raw.base = GstClockTime(Int64(shifted.raw.base) + nanoseconds)
        } else {
            let rest = nanoseconds.magnitude - UInt64(shifted.raw.base)
            shifted.raw.base = 0
            shifted.skip(guint64(rest))
        }
        return shifted
    }

    /// Moves the segment's start by `nanoseconds` and keeps the running time at its start.
    private mutating func skip(_ nanoseconds: guint64) {
        // With a negative rate the running time counts from the segment's end.
        guard raw.rate > 0 else {
            raw.offset += nanoseconds
            return
        }
        let skipped = nanoseconds + raw.offset
        raw.offset = 0
        raw.start += skipped
        raw.position = max(raw.position, raw.start)
        if raw.time != .max { raw.time += guint64(Double(skipped) * raw.applied_rate.magnitude) }
    }

    /// Returns the timestamp with this running time; `nil` if it is outside the segment.
    package func timestamp(at runningTime: ClockTime) -> ClockTime? {
        withUnsafePointer(to: raw) {
            ClockTime(
                raw: gst_segment_position_from_running_time($0, GST_FORMAT_TIME, GstClockTime(runningTime.nanoseconds)))
        }
    }

    /// Returns the stream time of a timestamp: the position in the media that a player shows. Returns `nil` if the
    /// timestamp is outside the segment, or the segment isn't in time format.
    package func streamTime(of timestamp: ClockTime?) -> ClockTime? {
        withUnsafePointer(to: raw) { $0.streamTime(of: timestamp) }
    }

    /// Returns the running time of a timestamp; `nil` if the timestamp is outside the segment, or the segment isn't in
    /// time format.
    package func runningTime(of timestamp: ClockTime?) -> ClockTime? {
        guard raw.format == GST_FORMAT_TIME else { return nil }
        return withUnsafePointer(to: raw) {
            ClockTime(raw: gst_segment_to_running_time($0, GST_FORMAT_TIME, timestamp.raw))
        }
    }
}

extension Segment {
    /// Returns whether a timestamp is inside the segment, which doesn't include its `stop`. Always true if the segment
    /// isn't in time format.
    func containsTimestamp(_ timestamp: GstClockTime) -> Bool {
        raw.format != GST_FORMAT_TIME || timestamp >= raw.start && (raw.stop == .max || timestamp < raw.stop)
    }

    /// Returns whether the whole buffer is inside the segment. True if the buffer has no timestamp, or the segment
    /// isn't in time format.
    package func contains(_ buffer: BufferAccess) -> Bool {
        guard raw.format == GST_FORMAT_TIME, let begin = buffer.presentationTimestamp?.nanoseconds else { return true }
        let end = begin + (buffer.durationNanoseconds ?? 0)
        return begin >= raw.start && (raw.stop == .max || end <= raw.stop)
    }
}

extension BufferAccess {
    /// Returns the part of an audio buffer that is inside the segment, without copying samples; `nil` if no part is.
    package func clipped(to segment: Segment, _ info: AudioInfo) -> Buffer? {
        withUnsafePointer(to: segment.raw) {
            gst_audio_buffer_clip(gst_buffer_ref(raw), $0, gint(info.rate), gint(info.bytesPerFrame))
        }.map { Buffer(taking: $0) }
    }
}

extension Sample {
    /// Returns whether the sample's segment equals `segment`. False if either has none.
    package func has(_ segment: Segment?) -> Bool {
        guard var known = segment?.raw, let own = gst_sample_get_segment(raw) else { return false }
        return gst_segment_is_equal(own, &known) != 0
    }

    /// The segment of the timestamps; `nil` if the sample has none in time format.
    package var segment: Segment? {
        guard let own = gst_sample_get_segment(raw), own.pointee.format == GST_FORMAT_TIME else { return nil }
        return Segment(own.pointee)
    }
}

extension UnsafePointer<GstSegment> {
    /// Returns the stream time of a timestamp; `nil` if the timestamp is outside the segment, or the segment isn't in
    /// time format.
    package func streamTime(of timestamp: ClockTime?) -> ClockTime? {
        guard pointee.format == GST_FORMAT_TIME else { return nil }
        return ClockTime(raw: gst_segment_to_stream_time(self, GST_FORMAT_TIME, timestamp.raw))
    }
}
