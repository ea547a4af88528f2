import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

typealias VideoGate = SendGate<QueuedFrame>

/// A frame between its sender and the streaming thread.
///
/// Without references that Swift counts, which it would do at every move through queue and lock: 300 instructions a frame.
/// `take` or `discard` is called once.
struct QueuedFrame: SentPayload {
    static let act = "sending a frame"
    static var log: DebugCategory { VideoSourceElement.log }
    static let anything: [VideoCapability] = []
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

    /// Valid until the frame is taken.
    @inline(__always)
    func has(_ format: SentFormat?) -> Bool {
        guard let format else { return false }
        return retained.toOpaque() == Unmanaged.passUnretained(format).toOpaque()
    }

    /// Whether the source declared no rate for this frame size. Doesn't retain the format.
    @inline(__always)
    var isUnlimited: Bool { retained._withUnsafeGuaranteedRef { $0.maximumRate == nil } }

    /// The buffer, until the frame is taken.
    var access: BufferAccess { buffer.access }

    /// Valid until the frame is taken.
    var format: SentFormat { retained.takeUnretainedValue() }

    @inline(__always)
    func take() -> Buffer {
        retained.release()
        return buffer.take()
    }
}

/// What a node says on every frame that is sent.
final class FrameMarks: Sendable {
    /// What is to be flipped in it (`Flip`).
    let flip = Atomic<Int32>(0)
}

extension MGOutgoingFrame: OutgoingMedia {
    func giveBack() {
        release?(release_context)
        if let buffer { _ = Buffer(taking: buffer) }
    }
}

extension SendGate where Payload == QueuedFrame {
    /// A buffer from the pool for frames of this description, and the caps that say how it lies.
    func acquire(_ description: UnsafePointer<MGOutgoingFrame>) throws(MediaGraphError) -> (UnmanagedBuffer, Caps) {
        var format = monitor.withLock(wakes: false) { $0.queue.format }
        if format?.hasFormat(of: description) != true {
            let new = try SentFormat(description.pointee, declared: rules, hasData: false)
            monitor.withLock(wakes: false) { $0.queue.format = new }
            format = new
        }
        guard let format, let buffer = format.pool.acquire() else {
            throw .allocationFailed(.init("a frame", expected: "a buffer of the node's pool"))
        }
        return (UnmanagedBuffer(buffer), format.caps)
    }

    /// What the queue makes up for at the most: it grows with the graph's latency, up to what may be kept in memory. Frames
    /// are stamped as they come, so nothing is added.
    var maximumLatency: ClockTime {
        let (format, maxFrames) = monitor.withLock(wakes: false) { ($0.queue.announcedFormat, $0.settings.bound) }
        let rate = format?.framesPerSecond.value ?? 0
        let kept = format.map { LatencyAllowance.memory / max(1, $0.byteCount) } ?? 0
        return .seconds(Double(max(maxFrames, kept)) / (rate > 0 ? rate : 30))
    }
}
