import CGStreamer

/// What a stream's timestamps mean (`GstSegment`): how they become running time. A value.
public struct Segment: Equatable, @unchecked Sendable {
    // `@unchecked Sendable`: numbers; what pointers it has are GStreamer's padding.
    package var raw: GstSegment

    package init(_ raw: GstSegment) { self.raw = raw }

    /// Of a SEGMENT event.
    init(_ event: UnsafeMutablePointer<GstEvent>) {
        raw = GstSegment()
        gst_event_copy_segment(event, &raw)
    }

    /// The last one that has passed a pad; `nil` before the first.
    init?(passing pad: UnsafeMutablePointer<GstPad>) {
        guard let event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0) else { return nil }
        defer { gst_event_unref(event) }
        self.init(event)
    }

    /// Of a stream that has said nothing yet: no timestamp has a running time.
    /// (Computed: of a stored one Swift 6.3 in release mode makes a global of 112 of its 120 bytes, and reads beyond it.)
    public static var undefined: Segment { Segment(GstSegment()) }

    /// Timestamps that are running time itself.
    public init() {
        raw = GstSegment()
        gst_segment_init(&raw, GST_FORMAT_TIME)
    }

    public static func == (a: Segment, b: Segment) -> Bool {
        withUnsafePointer(to: a.raw) { a in withUnsafePointer(to: b.raw) { gst_segment_is_equal(a, $0) != 0 } }
    }

    /// The same timestamps mean a running time that is so many nanoseconds later (or earlier).
    ///
    /// What would come before running time 0 lies before the segment's start then, so that elements clip it. GStreamer's own
    /// `gst_segment_offset_running_time` leaves it inside and without a running time, and compositor aborts on that (1.22).
    public func shifted(by nanoseconds: Int64) -> Segment {
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

    /// Begins so many nanoseconds later, with the running time that it began with.
    private mutating func skip(_ nanoseconds: guint64) {
        // Backwards the running time counts from the end.
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

    /// The timestamp that has this running time; `nil` outside the segment.
    public func timestamp(at runningTime: ClockTime) -> ClockTime? {
        withUnsafePointer(to: raw) {
            ClockTime(
                raw: gst_segment_position_from_running_time($0, GST_FORMAT_TIME, GstClockTime(runningTime.nanoseconds)))
        }
    }

    /// A timestamp as the position in the medium: where a player's slider would stand. `nil` outside of the segment.
    public func streamTime(of timestamp: ClockTime?) -> ClockTime? {
        withUnsafePointer(to: raw) { $0.streamTime(of: timestamp) }
    }

    /// A timestamp as running time; `nil` outside of the segment, and where it doesn't count time.
    public func runningTime(of timestamp: ClockTime?) -> ClockTime? {
        guard raw.format == GST_FORMAT_TIME else { return nil }
        return withUnsafePointer(to: raw) {
            ClockTime(raw: gst_segment_to_running_time($0, GST_FORMAT_TIME, timestamp.raw))
        }
    }
}

extension Segment {
    /// Whether a buffer with this timestamp begins inside the segment, whose `stop` is excluded. Always true if the segment
    /// isn't in time format.
    func containsBeginning(_ timestamp: GstClockTime) -> Bool {
        raw.format != GST_FORMAT_TIME || timestamp >= raw.start && (raw.stop == .max || timestamp < raw.stop)
    }

    /// Whether all of a buffer lies in it. One without a timestamp does, and so does any in a segment that doesn't count time.
    public func contains(_ buffer: BufferAccess) -> Bool {
        guard raw.format == GST_FORMAT_TIME, let begin = buffer.presentationTimestamp?.nanoseconds else { return true }
        let end = begin + (buffer.duration?.nanoseconds ?? 0)
        return begin >= raw.start && (raw.stop == .max || end <= raw.stop)
    }
}

extension BufferAccess {
    /// The part of an audio buffer that lies in the segment, by reference; `nil` where none does.
    public func clipped(to segment: Segment, _ info: AudioInfo) -> Buffer? {
        withUnsafePointer(to: segment.raw) {
            gst_audio_buffer_clip(gst_buffer_ref(raw), $0, gint(info.rate), gint(info.bytesPerFrame))
        }.map { Buffer(taking: $0) }
    }
}

extension Sample {
    /// Whether its segment is this one.
    public func has(_ segment: Segment?) -> Bool {
        guard var known = segment?.raw, let own = gst_sample_get_segment(raw) else { return false }
        return gst_segment_is_equal(own, &known) != 0
    }

    /// The segment of its timestamps, where they are times.
    public var segment: Segment? {
        guard let own = gst_sample_get_segment(raw), own.pointee.format == GST_FORMAT_TIME else { return nil }
        return Segment(own.pointee)
    }
}

extension UnsafePointer<GstSegment> {
    package func streamTime(of timestamp: ClockTime?) -> ClockTime? {
        guard pointee.format == GST_FORMAT_TIME else { return nil }
        return ClockTime(raw: gst_segment_to_stream_time(self, GST_FORMAT_TIME, timestamp.raw))
    }
}
