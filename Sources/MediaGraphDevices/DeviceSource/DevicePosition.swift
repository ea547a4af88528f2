import GStreamer
import MediaGraphCore

/// Where a `devicesource` and its device stand.
struct DevicePosition: Sendable {
    /// The node's own state: the device's elements belong there.
    var node = State.null
    /// Whether a thread is bringing them there, or exchanging them.
    var isMoving = false
    /// The elements of the device, also while it is tried whether it is back.
    var chain: DeviceChain?
    /// Its data isn't downstream's yet.
    var isTrying = false
    /// The pad that a tried device is to be shown by.
    var output: Pad?
    /// A tried device's first buffer waits.
    var hasArrived = false
    /// What the device is being asked.
    var call: (any AbandonableCall)?
    /// It hasn't answered, and a thread that was left behind has the chain's elements.
    var isLeft = false
    /// How many devices that were left behind haven't answered, each with a thread.
    var unanswered = 0
    /// Opens the device while the graph's other elements open theirs.
    var opening: NativeThread?
    /// Until when it may, in monotonic nanoseconds; `nil` when it has.
    var openingEnd: UInt64?
    /// Why it couldn't, where the device isn't waited for.
    var refusal: MediaGraphError?
    /// Nobody waits for the device's answers any more: the graph stops, or ends.
    var isUnwanted = false
    /// What became of `chain`.
    var loss: MediaGraphError?
    /// What is given meanwhile.
    var standIn: (element: Element, standIn: DeviceStandIn)?
    /// The stream has ended: nothing is tried any more.
    var isOver = false
    /// The device's loss is on the bus, and ends the graph.
    var hasFailed = false
    var isStopping = false
    /// The graph was asked to end, or has failed.
    var ending = Ending.none
    /// Until when the device that was told has to have ended its stream, in monotonic nanoseconds.
    var endingDeadline: UInt64 = 0
    var thread: NativeThread?

    /// Of the device as it was last.
    var label = ""
    /// Which one it is that is to be found when it is back.
    var camera: CameraIdentity?
    /// Those that were there when it went.
    var otherCameras: Set<CameraIdentity> = []
    /// The source of a sound server's that it began with.
    var firstSource: String?
    var latency = ClockTime.zero
    /// What downstream has, as far as a device that is back has to give it.
    var caps: Caps?
    /// The same with all that was said of colours and channels: what stands in changes nothing of it.
    var exactCaps: Caps?
    /// Whoever is found by its name next may be another.
    var isLostForGood = false
    /// Running time up to which the device gave data, since it is away.
    var lostAt: ClockTime?
    /// Why it couldn't be had again at the last try.
    private var lastRefusal: MediaGraphError.Code?
    /// What of that has been told since it is there.
    private var toldRefusals: Set<MediaGraphError.Code> = []
    /// When to try again, in monotonic nanoseconds.
    var nextTry: UInt64 = 0
    /// When a device that says nothing, though it could be opened, is given up.
    var trialEnd: UInt64 = 0

    enum Ending: Sendable {
        case none, asked
        /// Whoever gives the stream knows.
        case told
    }

    /// Who gives the stream.
    enum Giver: Sendable {
        case standIn(Element)
        case device(DeviceChain)
    }

    /// Who gives the stream, when that is to end and he hasn't been told; he knows then. `nil` also while another is to come.
    mutating func takeEnding() -> Giver? {
        guard let giver = endingGiver else { return nil }
        ending = .told
        return giver
    }

    private var endingGiver: Giver? {
        guard ending == .asked else { return nil }
        if let standIn { return .standIn(standIn.element) }
        guard let chain, !isTrying, loss == nil else { return nil }
        return .device(chain)
    }

    /// Whoever was told to end the stream has time for it from now on.
    mutating func allowEnding() {
        endingDeadline = monotonicNanoseconds() + DeviceSettings.endingPatience * 1_000_000
    }

    /// What the device is asked, and what it was going to be asked to be opened, is called off.
    mutating func abandon() {
        isUnwanted = true
        call?.abandon()
    }

    /// What became of the device. Who was told to end the stream won't: another is to.
    mutating func lose(_ error: MediaGraphError) {
        loss = error
        if ending == .told, standIn == nil { ending = .asked }
    }

    /// Whether that is to be told: the device is there, and can't be had all the same. Not at the first try: its rights are set a
    /// moment after it is plugged in. `nil` when it said nothing.
    mutating func takeNews(of refusal: MediaGraphError.Code?) -> Bool {
        defer { lastRefusal = refusal }
        guard let refusal, ![.noDevice, .deviceGone, .timeOut].contains(refusal) else {
            toldRefusals = []
            return false
        }
        return refusal == lastRefusal && toldRefusals.insert(refusal).inserted
    }

    /// It is away for that reason, which has been told.
    mutating func told(_ refusal: MediaGraphError.Code) { (lastRefusal, toldRefusals) = (nil, [refusal]) }

    /// Nanoseconds until the next attempt. One that hangs may do so for ever, while another of its name is there.
    var pause: UInt64 {
        let second: UInt64 = 1_000_000_000
        return unanswered <= 0 ? second : min(second << UInt64(unanswered + 1), 32 * second)
    }

    private static let mostUnanswered = 10

    enum Job: Sendable {
        case leave(MediaGraphError)
        case attempt
        case giveUp(MediaGraphError?)
        case comeBack
        case checkStall
        /// The stream is to end.
        case end
        case checkEnding
        case stop
        /// Look again.
        case look
    }

    /// What is to be done at this moment, or how long to wait for it in microseconds; `nil` for any time.
    func next(at now: UInt64, stallTimeout: UInt64) -> (job: Job?, wait: Int64?) {
        if isStopping { return (.stop, nil) }
        guard !isMoving, !isOver else { return (nil, nil) }
        if endingGiver != nil { return (.end, nil) }
        guard node == .playing else { return (nil, nil) }
        func wait(until time: UInt64) -> (Job?, Int64?) { (nil, Int64((time - now) / 1000) + 1) }
        guard let chain else {
            guard !isLostForGood, unanswered < Self.mostUnanswered, ending == .none else { return (nil, nil) }
            return now >= nextTry ? (.attempt, nil) : wait(until: nextTry)
        }
        if isTrying {
            guard ending == .none else { return (nil, nil) }
            if let loss { return (.giveUp(loss), nil) }
            if hasArrived { return (.comeBack, nil) }
            return now >= trialEnd ? (.giveUp(nil), nil) : wait(until: trialEnd)
        }
        if let loss { return (.leave(loss), nil) }
        // One that is blocked isn't waited for as long as it may be silent otherwise.
        if ending == .told { return now >= endingDeadline ? (.checkEnding, nil) : wait(until: endingDeadline) }
        guard stallTimeout > 0 else { return (nil, nil) }
        let milliseconds = max(stallTimeout, chain.leastPatience(stallTimeout))
        let (silence, limit) = (chain.flow.silence, milliseconds * 1_000_000)
        // Nobody says when less is enough.
        return silence >= limit ? (.checkStall, nil) : wait(until: now + min(limit - silence, stallTimeout * 1_000_000))
    }
}
