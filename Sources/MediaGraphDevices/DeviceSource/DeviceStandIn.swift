import GStreamer
import MediaGraphElements
import Synchronization

/// Replaces a device that is away: a live source of a still picture, of silence, or of GAP events only.
///
/// `devicesource` creates one for each absence. It isn't registered as a factory.
///
/// `@unchecked Sendable`: `next`, `hasBegun` and `isMakingUp` are only used on the streaming thread. All else is
/// constant once the element runs, atomic, or protected by locks.
final class DeviceStandIn: PushSource, @unchecked Sendable {
    /// The content of the stream.
    enum Content: Sendable {
        case gaps
        /// A still picture, at this frame rate.
        case picture(Slate, every: Fraction)
        case silence(AudioInfo)
    }

    private struct Order: Sendable {
        var content = Content.gaps
        var caps: Caps?
        /// The running time at which the device's data ended; `nil` if it has sent none.
        var begin: ClockTime?
        var latency = Duration.zero
    }

    private let order = Mutex(Order())
    private let alarm = ClockAlarm()
    private let isInterrupted = Atomic<Bool>(false)
    private let isToEnd = Atomic<Bool>(false)
    private let isToRest = Atomic<Bool>(false)
    private let rests = Atomic<Bool>(false)
    private let reached = Atomic<UInt64>(0)
    private var hasBegun = false
    /// Whether it sends the silence of a time that has passed.
    private var isMakingUp = false
    /// The running time of the next buffer.
    private var next = ClockTime.zero

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: "devicestandin", typeName: "GstMediaGraphDeviceStandIn", longName: "Device stand-in",
            classification: "Source", summary: "Replaces the device of devicesource while it is away",
            author: NodeDefinition.author, padTemplates: [PadTemplate("src", .source, caps: "ANY")],
            abiVersion: NodeDefinition.abiVersion)
    }

    /// Creates a stand-in with a locked state.
    ///
    /// - Parameters:
    ///   - begin: The running time at which the device's data ended; `nil` if it has sent none.
    ///   - latency: The device's latency, which the stand-in keeps.
    static func make(
        _ content: Content, caps: Caps?, from begin: ClockTime?, latency: Duration
    ) -> (element: Element, standIn: DeviceStandIn)? {
        guard let element = try? ElementClass.make(DeviceStandIn.self) else { return nil }
        let standIn = ElementClass.implementation(of: element.element, as: DeviceStandIn.self)
        standIn.order.withLock { $0 = Order(content: content, caps: caps, begin: begin, latency: latency) }
        element.setStateLocked(true)
        return (element, standIn)
    }

    /// The running time at which the data sent so far ends.
    var end: ClockTime { ClockTime(nanoseconds: reached.load(ordering: .relaxed)) }

    // MARK: The end of the absence

    /// Sends no more buffers, until `resume` or until it is stopped. May be called on any thread.
    func rest() {
        isToRest.store(true, ordering: .releasing)
        alarm.cancel()
    }

    /// Goes on after `rest`.
    func resume() { isToRest.store(false, ordering: .releasing) }

    /// Whether its thread rests, or has ended. Then nothing is on its way downstream, so a change to NULL doesn't block.
    var isAtRest: Bool { rests.load(ordering: .acquiring) || sourcePad.hasEnded || sourcePad.refusal != nil }

    /// Rests if asked to. Returns false after a rest that `resume` has ended.
    private func isAwake() -> Bool {
        var isDisturbed: Bool { isInterrupted.load(ordering: .relaxed) || isToEnd.load(ordering: .acquiring) }
        guard isToRest.load(ordering: .acquiring) else { return true }
        rests.store(true, ordering: .releasing)
        defer { rests.store(false, ordering: .releasing) }
        while isToRest.load(ordering: .acquiring), !isDisturbed { sleepBriefly() }
        return isDisturbed
    }

    override func unlock() {
        isInterrupted.store(true, ordering: .relaxed)
        alarm.cancel()
    }

    /// Ends the stream at the next buffer. The base class would block until downstream has taken the current buffer,
    /// while it holds the element's state lock. A stop that waits for that lock couldn't unblock downstream.
    override func endOfStreamRequested() -> Bool {
        isToEnd.store(true, ordering: .releasing)
        alarm.cancel()
        return true
    }

    override func unlockStop() { isInterrupted.store(false, ordering: .relaxed) }

    override var latency: (isLive: Bool, minimum: Duration, maximum: Duration?) {
        let order = order.withLock { $0 }
        return (true, max(order.latency, block(order.content)), nil)
    }

    /// The duration of one buffer or GAP event.
    private func block(_ content: Content) -> Duration {
        switch content {
        case .gaps: .milliseconds(100)
        case .picture(_, let rate): .frames(1, at: rate)
        // About 10 ms, but whole samples. Otherwise their durations wouldn't add up to the time that has passed.
        case .silence(let info): info.duration(ofFrames: info.frames(in: .milliseconds(10)))
        }
    }

    override func create(_ buffer: inout Buffer?) -> FlowReturn {
        let order = order.withLock { $0 }
        guard let now = element.currentRunningTime else { return .flushing }
        if !hasBegun { begin(order, now) }
        let step = block(order.content)
        if next >= now { isMakingUp = false }
        // After a pause, continue at the current time.
        if !isMakingUp, now - next > .seconds(1) { next = now }
        while true {
            let end = next + step
            // Like a device, send a buffer at the end of its duration.
            repeat {
                alarm.wait(for: end, of: element) {
                    isInterrupted.load(ordering: .relaxed) || isToEnd.load(ordering: .acquiring)
                        || isToRest.load(ordering: .acquiring)
                }
            } while !isAwake()
            guard !isInterrupted.load(ordering: .relaxed) else { return .flushing }
            guard !isToEnd.load(ordering: .acquiring) else { return .endOfStream }
            defer {
                next = end
                reached.store(end.nanoseconds, ordering: .relaxed)
            }
            switch order.content {
            // GAP events need caps first.
            case .gaps: if order.caps != nil { pushGap(at: next, duration: step) }
            case .picture(let slate, _):
                buffer = stamped(slate.buffer.access.shallowCopy, step).withCaptureTime()
                return .ok
            case .silence(let info):
                guard let silence = info.silence(frames: info.frames(in: step)) else { return .error }
                silence.access.isGap = true
                buffer = stamped(silence, step)
                return .ok
            }
        }
    }

    private func stamped(_ buffer: consuming Buffer, _ duration: Duration) -> Buffer {
        buffer.access.presentationTimestamp = next
        buffer.access.duration = duration
        return buffer
    }

    private func begin(_ order: Order, _ now: ClockTime) {
        hasBegun = true
        // The device's data may end slightly after the current time.
        next = max(now, order.begin ?? now)
        reached.store(next.nanoseconds, ordering: .relaxed)
        guard let caps = order.caps else { return }
        setCaps(caps)
        pushSegment()
        if case .gaps = order.content { pushSticky(StreamStatus.event(on: false)) }
        guard let begin = order.begin, begin < now else { return }
        if case .silence = order.content {
            // The duration of sound is that of its samples, and files have no gaps, so the missing time is filled with
            // silence.
            (next, isMakingUp) = (begin, true)
        } else {
            pushGap(at: begin, duration: now - begin)
        }
    }
}
