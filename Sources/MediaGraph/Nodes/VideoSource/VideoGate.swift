import CGStreamer
import CMediaGraphABI
import GStreamer

/// Lets a source's frames into the graph between `startSend` and `stopSend`, and refuses them with a typed error before
/// and after. appsrc itself accepts buffers even in NULL, so the gate is ours.
///
/// Senders hold it, so it outlives the element. A frame is copied outside the lock; the check of the gate and the push are
/// one step, so nothing gets in once `close` has returned.
final class VideoGate: Sendable {
    /// Where the node is in its lifecycle.
    enum Phase: Sendable {
        case uninitialized, initialized
        /// Inside `startSend`: frames are accepted and nobody waits, for the state change would wait with them.
        case starting
        case sending
        case stopped
    }

    private struct State: Sendable {
        var phase = Phase.uninitialized
        var format: VideoFormatState?
        var pace = Pace.live
        var maxFrames = 2
        var timeout: ClockTime = .milliseconds(100)
        /// The status event of this cycle has gone out.
        var hasAnnounced = false
        var hasEnded = false
        var needsCapabilities = false
    }

    /// What the last frame was, so that caps are made only when that changes.
    private struct VideoFormatState: Sendable {
        var key: Key
        var pool: VideoBufferPool
        struct Key: Equatable, Sendable {
            var width, height, format: Int32
            var rate, aspect: Fraction
        }

        /// Whether the frame has this format and all that goes with it.
        func accepts(_ frame: MGOutgoingFrame) -> Bool {
            frame.width == key.width && frame.height == key.height && frame.format == key.format
                && frame.rate_numerator == key.rate.numerator && frame.rate_denominator == key.rate.denominator
                && frame.aspect_numerator == key.aspect.numerator && frame.aspect_denominator == key.aspect.denominator
                && frame.length == Int64(pool.packedLength) && frame.data != nil
                && Rotation(rawValue: frame.rotation) != nil
        }
    }

    let statistics = NodeStatistics()
    private let monitor = BlockingMonitor(State())
    /// Senders that wait for the clock.
    private let alarm = ClockAlarm()
    private let appSource: AppSource
    private let owner: WeakElement
    /// Called on the sender's thread when downstream has asked for new caps.
    let capabilitiesChanged: @Sendable () -> Void

    init(appSource: AppSource, owner: WeakElement, capabilitiesChanged: @escaping @Sendable () -> Void) {
        self.appSource = appSource
        self.owner = owner
        self.capabilitiesChanged = capabilitiesChanged
        appSource.setCallbacks(
            overflowed: { [statistics] in statistics.countDrop() },
            drained: { [monitor] in monitor.withLock { _ in } })
        appSource.staticPad("src")!.interceptEvents(named: Self.failureEvent) { [owner] event in
            owner.postError(.processing, "\(owner.name): \(event["text", as: String.self] ?? "")")
        }
    }

    // MARK: The node's side

    func initialize(pace: Pace, maxFrames: Int) {
        statistics.reset()
        // A fast source is asked to wait before the queue is full, so the queue itself never drops.
        appSource.setQueue(maximumBuffers: maxFrames, overflow: pace == .live ? .dropOldest : .none)
        appSource.setWakesEarly(pace == .fast)
        declareLatency(Fraction(30, 1), maxFrames)
        monitor.withLock {
            $0 = State()
            $0.pace = pace
            $0.maxFrames = maxFrames
            $0.phase = .initialized
        }
    }

    func uninitialize() { monitor.withLock { $0.phase = .uninitialized } }

    /// Before `startSend`.
    func open() {
        monitor.withLock {
            $0.phase = .starting
            $0.hasAnnounced = false
        }
    }

    /// After `startSend`.
    func startSendReturned() {
        monitor.withLock { if $0.phase == .starting { $0.phase = .sending } }
    }

    /// Before `stopSend`: whoever waits is refused, and the pipes downstream learn that the sender has stopped.
    func close() {
        monitor.withLock { state in
            if state.hasAnnounced, !state.hasEnded { appSource.pushSticky(StreamStatus.event(on: false)) }
            state.phase = .stopped
        }
        alarm.cancel()
    }

    func downstreamReconfigured() {
        monitor.withLock { $0.needsCapabilities = true }
    }

    // MARK: The sender's side

    var pace: Pace { monitor.withLock(wakes: false) { $0.pace } }
    var runningTime: ClockTime? { appSource.currentRunningTime }

    func send(_ frame: MGOutgoingFrame) throws(MediaGraphError) {
        do throws(MediaGraphError) {
            let (key, pool) = try admit(frame)
            guard let buffer = Self.buffer(of: frame, pool) else {
                throw .allocationFailed(.init("a frame", expected: "\(pool.info.size) bytes"))
            }
            stamp(buffer.access, frame)
            try push(buffer, key, pool)
        } catch {
            statistics.countRefusal()
            throw error
        }
    }

    /// Everything that can refuse a frame before it is looked at. Memory that was handed over goes back then.
    private func admit(_ frame: MGOutgoingFrame) throws(MediaGraphError) -> (VideoFormatState.Key, VideoBufferPool) {
        do throws(MediaGraphError) {
            // Nearly every frame is like the one before.
            if let format = monitor.withLock(wakes: false, { $0.format }), format.accepts(frame) {
                try waitForRoom()
                return (format.key, format.pool)
            }
            let (key, info) = try Self.validate(frame)
            try waitForRoom()
            return (key, try pool(for: key, info))
        } catch {
            frame.release?(frame.release_context)
            throw error
        }
    }

    /// A buffer around memory that was handed over, where GStreamer's layout allows it; else one with a copy.
    private static func buffer(of frame: MGOutgoingFrame, _ pool: VideoBufferPool) -> Buffer? {
        guard let release = frame.release, pool.isPackedByDefault else {
            defer { frame.release?(frame.release_context) }
            return pool.copy(packed: frame.data)
        }
        return Buffer(
            wrapping: UnsafeMutableRawBufferPointer(
                start: UnsafeMutableRawPointer(mutating: frame.data), count: Int(frame.length)),
            context: frame.release_context, release: release)
    }

    private func push(_ buffer: consuming Buffer, _ key: VideoFormatState.Key, _ pool: VideoBufferPool)
        throws(MediaGraphError)
    {
        var pending: Buffer? = consume buffer
        var queueLength: Int?
        let flow = monitor.withLock(wakes: false) { state -> FlowReturn? in
            guard state.phase == .starting || state.phase == .sending, !state.hasEnded else { return nil }
            if state.format?.key != key {
                state.format = VideoFormatState(key: key, pool: pool)
                appSource.setCaps(pool.info.caps)
                queueLength = state.maxFrames
            }
            if !state.hasAnnounced {
                // Behind the caps: a pad must have CAPS before SEGMENT, which appsrc sends ahead of the first event.
                appSource.pushSticky(StreamStatus.event(on: true))
                state.hasAnnounced = true
            }
            return appSource.push(pending.take()!)
        }
        // Outside the lock: it posts a message, and whoever hears that may ask for the latency, and so for the pace.
        if let queueLength { declareLatency(pool.info.framesPerSecond, queueLength) }
        switch flow {
        case .ok: statistics.countFrame()
        case nil: throw closedError
        default:
            throw .processingFailed(.init("sending", expected: "a graph that takes frames", actual: "\(flow!)"))
        }
    }

    /// Frames are stamped as they come, so nothing is added; the queue makes up for as much as it holds.
    private func declareLatency(_ rate: Fraction, _ maxFrames: Int) {
        let frame = 1 / (rate.value > 0 ? rate.value : 30)
        appSource.setLatency(minimum: .zero, maximum: .seconds(frame * Double(maxFrames)))
    }

    private var closedError: MediaGraphError {
        .wrongUsage(.init("sending a frame", expected: "a call between startSend and stopSend", actual: "one outside"))
    }

    /// The pool for this format: the current one, or a new one that the next push makes current.
    private func pool(for key: VideoFormatState.Key, _ info: VideoInfo) throws(MediaGraphError) -> VideoBufferPool {
        if let format = monitor.withLock(wakes: false, { $0.format }), format.key == key { return format.pool }
        guard let pool = VideoBufferPool(info) else {
            throw .allocationFailed(.init("a buffer pool", expected: "\(info.size) bytes a frame"))
        }
        return pool
    }

    private func stamp(_ buffer: BufferAccess, _ frame: MGOutgoingFrame) {
        buffer.presentationTimestamp =
            ClockTime(raw: GstClockTime(frame.timestamp)) ?? appSource.currentRunningTime ?? .zero
        if frame.rate_numerator > 0 {
            let (seconds, rate) = (UInt64(1_000_000_000), UInt64(frame.rate_numerator))
            buffer.duration = ClockTime(nanoseconds: seconds * UInt64(frame.rate_denominator) / rate)
        }
        if frame.rotation != 0 { Rotation.meta.set(frame.rotation, on: buffer) }
        buffer.setCaptureTime(wallClockNanoseconds())
    }

    /// With `pace=fast` a full queue makes the sender wait, within the time-out; it never does inside `startSend`.
    private func waitForRoom() throws(MediaGraphError) {
        let (phase, pace, timeout, changed) = monitor.withLock(wakes: false) { state in
            defer { state.needsCapabilities = false }
            return (state.phase, state.pace, state.timeout, state.needsCapabilities)
        }
        guard phase == .starting || phase == .sending else { throw closedError }
        if changed { capabilitiesChanged() }
        guard pace == .fast, phase == .sending else { return }
        let hasRoom = monitor.wait(timeout: Int64(timeout.nanoseconds / 1000)) { state -> Bool? in
            guard state.phase == .sending else { return false }
            return self.appSource.level < state.maxFrames ? true : nil
        }
        switch hasRoom {
        case true: return
        case false: throw closedError
        default:
            throw .timeOut(.init("sending a frame", expected: "room in the queue within \(timeout.seconds) s"))
        }
    }

    func wait(until time: ClockTime) -> Bool {
        let isSending: @Sendable (State) -> Bool = { $0.phase == .starting || $0.phase == .sending }
        while true {
            guard monitor.withLock(wakes: false, { isSending($0) }) else { return false }
            guard pace == .live, let now = appSource.currentRunningTime, now < time else { return true }
            alarm.wait(for: time, of: appSource) { !monitor.withLock(wakes: false, { isSending($0) }) }
        }
    }

    func endOfStream() {
        monitor.withLock { state in
            guard state.phase == .starting || state.phase == .sending, !state.hasEnded else { return }
            if state.hasAnnounced { appSource.pushSticky(StreamStatus.event(on: false)) }
            state.hasEnded = true
            appSource.endOfStream()
        }
    }

    /// The error comes on the bus when the frames sent before it have been delivered.
    func fail(_ error: MediaGraphError) {
        let isQueued = monitor.withLock { state in
            guard state.phase == .sending, state.format != nil else { return false }
            appSource.push(Structure(Self.failureEvent, [("text", "\(error)")]))
            return true
        }
        if !isQueued { owner.postError(.processing, "\(owner.name): \(error)") }
    }

    private static let failureEvent = "mediagraph-source-failure"

    // MARK: Validation

    private static func validate(_ frame: MGOutgoingFrame) throws(MediaGraphError) -> (VideoFormatState.Key, VideoInfo)
    {
        guard frame.width > 0, frame.height > 0, frame.width <= 16384, frame.height <= 16384 else {
            throw .invalidParameter(
                .init("frame size", expected: "1×1 to 16384×16384", actual: "\(frame.width)×\(frame.height)"))
        }
        guard let format = FrameFormat(code: frame.format) else {
            throw .invalidParameter(
                .init("frame format", expected: "one of \(NodeDefinition.formatNames)", actual: "\(frame.format)"))
        }
        guard Rotation(rawValue: frame.rotation) != nil else {
            throw .invalidParameter(.init("rotation", expected: "0, 90, 180 or 270", actual: "\(frame.rotation)"))
        }
        let (width, height) = (Int(frame.width), Int(frame.height))
        let length = format.pixelFormat.packedLength(width: width, height: height)
        guard frame.length == Int64(length), frame.data != nil else {
            throw .invalidParameter(
                .init(
                    "dataLength",
                    expected: "\(length) bytes for \(width)×\(height) \(format.pixelFormat.gstreamerName)",
                    actual: frame.data == nil ? "no data" : "\(frame.length)"))
        }
        guard frame.rate_numerator >= 0, frame.rate_denominator > 0, frame.aspect_numerator > 0,
            frame.aspect_denominator > 0
        else {
            throw .invalidParameter(
                .init(
                    "rate or pixel aspect", expected: "positive ratios",
                    actual: "\(frame.rate_numerator)/\(frame.rate_denominator)"))
        }
        let rate = Fraction(frame.rate_numerator, frame.rate_denominator)
        guard var info = VideoInfo(format.pixelFormat, width: width, height: height, framesPerSecond: rate) else {
            throw .invalidParameter(
                .init("frame size", expected: "one that GStreamer takes", actual: "\(width)×\(height)"))
        }
        info.pixelAspectRatio = Fraction(frame.aspect_numerator, frame.aspect_denominator)
        info.colorimetry.range = format.range
        let key = VideoFormatState.Key(
            width: frame.width, height: frame.height, format: frame.format, rate: rate, aspect: info.pixelAspectRatio)
        return (key, info)
    }
}
