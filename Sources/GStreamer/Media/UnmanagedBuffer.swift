import CGStreamer

/// A buffer on its way through a queue, where a value that isn't copyable can't be: whoever takes it out calls `take`
/// once, and nobody else.
public struct UnmanagedBuffer: @unchecked Sendable {
    // `@unchecked Sendable`: a reference count that moves with the value.
    private let raw: UnsafeMutablePointer<GstBuffer>

    public init(_ buffer: consuming Buffer) { raw = buffer.take() }

    /// To look at it before it is taken.
    public var access: BufferAccess { BufferAccess(raw) }

    public consuming func take() -> Buffer { Buffer(taking: raw) }
}
