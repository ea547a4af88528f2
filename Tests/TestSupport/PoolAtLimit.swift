import GStreamer

/// A pool of which as many buffers count as retained as may be, although all but one are free.
///
/// So each frame that a receiver retains meets the pool's limit, and no stream starves.
public final class PoolAtLimit: Sendable {
    /// `@unchecked Sendable`: never changes.
    private final class Retained: @unchecked Sendable {
        let buffer: KeptBuffer
        init(_ buffer: consuming KeptBuffer) { self.buffer = buffer }
    }

    private let pool: BoundedPool
    private let retained: [Retained]

    /// Creates a pool whose buffers have `size` bytes each.
    public init(_ caps: String, size: Int, buffers: Int = 40) {
        pool = BoundedPool(caps, size: size, buffers: buffers)
        guard let buffer = pool.acquire() else { preconditionFailure("a new pool has no buffer") }
        var retained: [Retained] = []
        while let kept = KeptBuffer(keeping: buffer.access) { retained.append(Retained(kept)) }
        self.retained = retained
    }

    /// Pushes a buffer of this time, if one is free. Each byte of it is 7.
    package func push(to source: AppSource, at time: ClockTime? = nil) {
        guard let buffer = pool.acquire() else { return }
        buffer.access.presentationTimestamp = time
        _ = source.push(buffer)
    }

    /// Returns a free buffer; `nil` if all are in use.
    public func acquire() -> Buffer? { pool.acquire() }
}
