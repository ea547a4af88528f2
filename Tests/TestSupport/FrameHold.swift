import GStreamer

/// Holds a stream at a pad until `release`: notes each frame that comes there, by its timestamp in milliseconds, and then
/// lets it wait.
public final class FrameHold: Sendable {
    public let seen = Log<UInt64>()
    private let isHolding = BlockingMonitor(true)

    public init(at pad: Pad) {
        pad.observeBuffers { [seen, isHolding] buffer in
            seen.add(buffer.presentationTimestamp!.nanoseconds / 1_000_000)
            _ = isHolding.wait { $0 ? nil : true }
        }
    }

    public func release() { isHolding.withLock { $0 = false } }
}
