import CGStreamer

/// A reference to a buffer with its caps and segment (`GstSample`), as `appsink` returns it. The reference is released
/// at the end of its scope; the value itself allocates nothing.
public struct Sample: ~Copyable {
    @usableFromInline package let raw: OpaquePointer

    package init(taking raw: OpaquePointer) { self.raw = raw }

    deinit { gst_sample_unref(raw) }

    /// The sample's buffer, valid while the sample exists; `nil` if it has none.
    @inlinable public var buffer: BufferAccess? { gst_sample_get_buffer(raw).map { BufferAccess($0) } }
    /// The buffer's caps; `nil` if the sample has none.
    public var caps: Caps? { gst_sample_get_caps(raw).map(Caps.init(retaining:)) }

    /// Returns whether the sample's caps are the object with this `Caps.identity`. This is cheaper than a comparison of
    /// caps. All samples between two changes of the format have the same object.
    @inlinable
    public func hasCaps(at identity: UInt) -> Bool { UInt(bitPattern: gst_sample_get_caps(raw)) == identity }

    /// The segment of the timestamps, valid while the sample exists.
    package var segmentPointer: UnsafePointer<GstSegment>? { gst_sample_get_segment(raw).map { UnsafePointer($0) } }

    /// Returns the running time of the buffer's presentation timestamp in the sample's segment; `nil` if the timestamp
    /// is outside the segment, or the segment isn't in time format.
    @inlinable
    public func runningTime(of buffer: BufferAccess) -> ClockTime? {
        guard let segment = gst_sample_get_segment(raw), segment.pointee.format == GST_FORMAT_TIME else { return nil }
        return ClockTime(raw: gst_segment_to_running_time(segment, GST_FORMAT_TIME, buffer.raw.pointee.pts))
    }
}

/// A reference to a sample as a copyable value, for queues that can't hold a `Sample`. The owner calls `take` exactly
/// once; otherwise the reference leaks or is released twice.
package struct UnmanagedSample: @unchecked Sendable {
    // `@unchecked Sendable`: owns one reference, which moves with the value; shared samples are immutable.
    private let raw: OpaquePointer

    package init(retaining sample: borrowing Sample) { raw = gst_sample_ref(sample.raw) }

    /// Returns the reference to the sample.
    package consuming func take() -> Sample { Sample(taking: raw) }
}
