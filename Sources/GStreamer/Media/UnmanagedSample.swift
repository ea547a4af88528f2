import CGStreamer

/// A sample on its way through a queue, where a value that isn't copyable can't be: whoever takes it out calls `take`
/// once, and nobody else.
public struct UnmanagedSample: @unchecked Sendable {
    // `@unchecked Sendable`: a reference count that moves with the value; samples are immutable while shared.
    private let raw: OpaquePointer

    public init(retaining sample: borrowing Sample) { raw = gst_sample_ref(sample.raw) }

    public consuming func take() -> Sample { Sample(taking: raw) }
}
