import CGStreamer

/// A buffer with its caps and segment, as `appsink` hands it over; given up with its scope. No allocation of its own.
public struct Sample: ~Copyable {
    @usableFromInline package let raw: OpaquePointer

    package init(taking raw: OpaquePointer) { self.raw = raw }

    deinit { gst_sample_unref(raw) }

    @inlinable public var buffer: BufferAccess? { gst_sample_get_buffer(raw).map { BufferAccess($0) } }
    public var caps: Caps? { gst_sample_get_caps(raw).map(Caps.init(retaining:)) }

    /// Whether the caps are the very object `caps`: cheaper than comparing, and true for all frames between two changes.
    @inlinable
    public func hasCaps(at identity: UInt) -> Bool { UInt(bitPattern: gst_sample_get_caps(raw)) == identity }

    /// The segment of its timestamps, for as long as the sample lives.
    package var segmentPointer: UnsafePointer<GstSegment>? { gst_sample_get_segment(raw).map { UnsafePointer($0) } }

    /// Running time of its buffer's presentation timestamp in the sample's segment; `nil` where that doesn't count time.
    @inlinable
    public func runningTime(of buffer: BufferAccess) -> ClockTime? {
        guard let segment = gst_sample_get_segment(raw), segment.pointee.format == GST_FORMAT_TIME else { return nil }
        return ClockTime(raw: gst_segment_to_running_time(segment, GST_FORMAT_TIME, buffer.raw.pointee.pts))
    }
}
