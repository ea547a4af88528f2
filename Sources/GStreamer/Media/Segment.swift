import CGStreamer

/// What a stream's timestamps mean (`GstSegment`): how they become running time. A value.
public struct Segment: Equatable, @unchecked Sendable {
    // `@unchecked Sendable`: numbers; what pointers it has are GStreamer's padding.
    package var raw: GstSegment

    package init(_ raw: GstSegment) { self.raw = raw }

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
    /// What would come before running time 0 lies outside the segment then, as GStreamer has it.
    public func shifted(by nanoseconds: Int64) -> Segment {
        var shifted = self
        if nanoseconds >= 0 || shifted.raw.base >= nanoseconds.magnitude {
            shifted.raw.base = GstClockTime(Int64(shifted.raw.base) + nanoseconds)
        } else {
            let rest = nanoseconds.magnitude - UInt64(shifted.raw.base)
            shifted.raw.base = 0
            shifted.raw.offset += guint64(rest)
        }
        return shifted
    }

    /// The timestamp that has this running time; `nil` outside the segment.
    public func timestamp(at runningTime: ClockTime) -> ClockTime? {
        withUnsafePointer(to: raw) {
            ClockTime(
                raw: gst_segment_position_from_running_time($0, GST_FORMAT_TIME, GstClockTime(runningTime.nanoseconds)))
        }
    }

    public func runningTime(of timestamp: ClockTime) -> ClockTime? {
        withUnsafePointer(to: raw) {
            ClockTime(raw: gst_segment_to_running_time($0, GST_FORMAT_TIME, GstClockTime(timestamp.nanoseconds)))
        }
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
