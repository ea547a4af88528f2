import GStreamer
import MediaGraphElements
import Synchronization

/// Stands for a device that isn't there: a live source of a still picture or of silence, or of nothing but GAP events.
///
/// Made by `devicesource` for one absence, and known to no factory.
///
/// `@unchecked Sendable`: `next`, `hasBegun` and `isMakingUp` belong to the streaming thread; the rest is constant once it runs,
/// atomic or behind locks.
final class DeviceStandIn: PushSource, @unchecked Sendable {
    /// What it gives.
    enum Content: Sendable {
        case gaps
        case picture(Slate, every: Fraction)
        case silence(AudioInfo)
    }

    private struct Order: Sendable {
        var content = Content.gaps
        var caps: Caps?
        /// Where the device's data ended.
        var begin: ClockTime?
        var latency = ClockTime.zero
    }

    private let order = Mutex(Order())
    private let alarm = ClockAlarm()
    private let isInterrupted = Atomic<Bool>(false)
    private let isToEnd = Atomic<Bool>(false)
    private let reached = Atomic<UInt64>(0)
    private var hasBegun = false
    /// It gives the silence of a time that is past.
    private var isMakingUp = false
    /// Running time of what comes next.
    private var next = ClockTime.zero

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: "devicestandin", typeName: "GstMediaGraphDeviceStandIn", longName: "Device's stand-in",
            classification: "Source", summary: "What devicesource gives while its device is away",
            author: NodeDefinition.author, padTemplates: [PadTemplate("src", .source, caps: "ANY")],
            abiVersion: NodeDefinition.abiVersion)
    }

    /// - Parameters:
    ///   - begin: running time where the device's data ended; `nil` for one that has given none.
    ///   - latency: how late the device's data came, and so this.
    static func make(
        _ content: Content, caps: Caps?, from begin: ClockTime?, latency: ClockTime
    ) -> (element: Element, standIn: DeviceStandIn)? {
        guard let element = try? ElementClass.make(DeviceStandIn.self) else { return nil }
        let standIn = ElementClass.implementation(of: element.element, as: DeviceStandIn.self)
        standIn.order.withLock { $0 = Order(content: content, caps: caps, begin: begin, latency: latency) }
        element.setLocksState(true)
        return (element, standIn)
    }

    /// The running time up to which it has given something.
    var end: ClockTime { ClockTime(nanoseconds: reached.load(ordering: .relaxed)) }

    override func unlock() {
        isInterrupted.store(true, ordering: .relaxed)
        alarm.cancel()
    }

    /// The base class would wait until downstream has taken what is under way, with the element's state in its hands: a stop
    /// that holds up downstream by then waits for that.
    override func endOfStreamRequested() -> Bool {
        isToEnd.store(true, ordering: .releasing)
        alarm.cancel()
        return true
    }

    override func unlockStop() { isInterrupted.store(false, ordering: .relaxed) }

    override var latency: (isLive: Bool, minimum: ClockTime, maximum: ClockTime?) {
        let order = order.withLock { $0 }
        return (true, max(order.latency, block(order.content)), nil)
    }

    /// How much it gives at once.
    private func block(_ content: Content) -> ClockTime {
        switch content {
        case .gaps: .milliseconds(100)
        case .picture(_, let rate): .frame(1, at: rate)
        case .silence: .milliseconds(10)
        }
    }

    override func create(_ buffer: inout Buffer?) -> FlowReturn {
        let order = order.withLock { $0 }
        guard let now = element.currentRunningTime else { return .flushing }
        if !hasBegun { begin(order, now) }
        let step = block(order.content)
        if next >= now { isMakingUp = false }
        // Behind a pause it goes on with the time that it is.
        if !isMakingUp, now.nanoseconds > next.nanoseconds + 1_000_000_000 { next = now }
        while true {
            let end = ClockTime(nanoseconds: next.nanoseconds + step.nanoseconds)
            // A device, too, gives what it has heard when it has heard it.
            alarm.wait(for: end, of: element) {
                isInterrupted.load(ordering: .relaxed) || isToEnd.load(ordering: .acquiring)
            }
            guard !isInterrupted.load(ordering: .relaxed) else { return .flushing }
            guard !isToEnd.load(ordering: .acquiring) else { return .endOfStream }
            defer {
                next = end
                reached.store(end.nanoseconds, ordering: .relaxed)
            }
            switch order.content {
            // A stream that has no format yet has nothing to say.
            case .gaps: if order.caps != nil { pushGap(at: next, duration: step) }
            case .picture(let slate, _):
                buffer = stamped(slate.buffer.access.described, step)
                return .ok
            case .silence(let info):
                guard let silence = info.silence(frames: info.frames(in: step)) else { return .error }
                silence.access.isGap = true
                buffer = stamped(silence, step)
                return .ok
            }
        }
    }

    private func stamped(_ buffer: consuming Buffer, _ duration: ClockTime) -> Buffer {
        buffer.access.presentationTimestamp = next
        buffer.access.duration = duration
        return buffer
    }

    private func begin(_ order: Order, _ now: ClockTime) {
        hasBegun = true
        // A device's data may end a little later than it is.
        next = max(now, order.begin ?? now)
        reached.store(next.nanoseconds, ordering: .relaxed)
        guard let caps = order.caps else { return }
        setCaps(caps)
        pushSegment()
        if case .gaps = order.content { pushSticky(StreamStatus.event(on: false)) }
        guard let begin = order.begin, begin < now else { return }
        if case .silence = order.content {
            // Sound is as long as it has samples: a file knows no gaps.
            (next, isMakingUp) = (begin, true)
        } else {
            pushGap(at: begin, duration: ClockTime(nanoseconds: now.nanoseconds - begin.nanoseconds))
        }
    }
}
