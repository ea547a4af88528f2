import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

typealias VideoGate = SendGate<QueuedFrame>

/// A frame on its way from its sender to the streaming thread.
///
/// The structure has no references that Swift counts. Otherwise, each move through the queue and the lock would retain
/// and release them, at a cost of 300 instructions per frame. Call either `take` or `discard`, exactly once.
struct QueuedFrame: SentPayload {
    static let actionName = "sending a frame"
    static var log: DebugCategory { VideoSourceElement.log }
    static let initialRules: [VideoCapability] = []
    static var isClocked: Bool { false }

    typealias Outgoing = MGOutgoingFrame
    typealias Format = SentFormat
    typealias Timeline = FrameTimeline
    typealias Rules = [VideoCapability]
    typealias Marks = FrameMarks

    static var isBoundByTime: Bool { false }

    @inline(__always)
    var weight: Int { 1 }

    var timestamp: ClockTime? { access.presentationTimestamp }
    var byteCount: Int { access.size }

    private let buffer: UnmanagedBuffer
    private let retained: Unmanaged<SentFormat>

    init(_ buffer: consuming Buffer, _ format: consuming SentFormat) {
        self.buffer = UnmanagedBuffer(buffer)
        retained = .passRetained(format)
    }

    /// Returns whether this is the frame's format. Valid until `take`.
    @inline(__always)
    func has(_ format: SentFormat?) -> Bool {
        guard let format else { return false }
        return retained.toOpaque() == Unmanaged.passUnretained(format).toOpaque()
    }

    /// Whether the source declared no rate for this frame size. Doesn't retain the format.
    @inline(__always)
    var isUnlimited: Bool { retained._withUnsafeGuaranteedRef { $0.maximumRate == nil } }

    /// The buffer. Valid until `take`.
    var access: BufferAccess { buffer.access }

    /// The frame's format. Valid until `take`.
    var format: SentFormat { retained.takeUnretainedValue() }

    @inline(__always)
    func take() -> Buffer {
        retained.release()
        return buffer.take()
    }
}

/// Metadata that a node adds to every frame it sends.
final class FrameMarks: Sendable {
    /// The flip (`Flip`) that a receiver must apply to honor the mirror mode.
    let flip = Atomic<Int32>(0)
}

extension MGOutgoingFrame: OutgoingMedia {}

extension SendGate where Payload == QueuedFrame {
    /// Returns a buffer from the pool for frames of this description, and the caps that say how the frame is laid out.
    func acquire(_ description: UnsafePointer<MGOutgoingFrame>) throws(MediaGraphError) -> (UnmanagedBuffer, Caps) {
        var format = monitor.withLock(wakes: false) { $0.queue.format }
        if format?.hasFormat(of: description) != true {
            let new = try SentFormat(description.pointee, declared: rules, hasData: false)
            monitor.withLock(wakes: false) { $0.queue.format = new }
            format = new
        }
        guard let format, let buffer = format.pool.acquire() else {
            throw .allocationFailed(.init("frame", actual: "the node's pool provided no buffer"))
        }
        return (UnmanagedBuffer(buffer), format.caps)
    }

    /// The maximum latency that the node reports: how long the queue can hold frames back. The queue grows with the
    /// graph's latency up to a memory limit. The minimum is zero, because frames are stamped on arrival.
    var maximumLatency: Duration {
        let (format, maxFrames) = monitor.withLock(wakes: false) { ($0.queue.announcedFormat, $0.settings.bound) }
        let rate = format?.framesPerSecond.value ?? 0
        let kept = format.map { LatencyAllowance.memory / max(1, $0.byteCount) } ?? 0
        return .seconds(Double(max(maxFrames, kept)) / (rate > 0 ? rate : 30))
    }
}
