import GStreamer
import MediaGraphCore
import X11

/// The state of a `devicesource` and its device.
struct DeviceState: Sendable {
    /// The node's own state, which the device's elements follow.
    var node = State.null
    /// Whether a thread is changing the state of the device's elements, or replacing them.
    var isMoving = false
    /// The device's elements, including those of an attempt to reconnect.
    var chain: DeviceChain?
    /// Whether the chain is an attempt whose data doesn't go downstream yet.
    var isTrying = false
    /// The source pad of the attempt, which will be shown downstream.
    var output: Pad?
    /// Whether the attempt's first buffer has arrived and waits.
    var hasArrived = false
    /// The call to the device that is under way.
    var call: (any AbandonableCall)?
    /// Whether the device hasn't answered, and an abandoned thread still uses the chain's elements.
    var isLeft = false
    /// The number of abandoned calls that haven't returned, each with its thread.
    var unanswered = 0
    /// The thread that opens the device, while the graph's other elements open theirs.
    var opening: NativeThread?
    /// The time limit for opening the device, in nanoseconds of the timers' clock; `nil` when it is open.
    var openingEnd: UInt64?
    /// Why the device couldn't be opened, if the node doesn't wait for the device.
    var refusal: MediaGraphError?
    /// Whether calls to the device should be abandoned, because the graph stops or ends.
    var isUnwanted = false
    /// Why the device of `chain` was lost, or couldn't be opened.
    var loss: MediaGraphError?
    /// The loss of an X server, which ends the process.
    var serverLoss: MediaGraphError?
    /// Notifies about losses, if the device is a screen or a window.
    var screenListener: XConnections.Listener?
    /// The element that replaces the device while it is away.
    var standIn: (element: Element, standIn: DeviceStandIn)?
    /// Whether the stream has ended, so that no more attempts are made.
    var isOver = false
    /// Whether the device's loss was posted as an error, which ends the graph.
    var hasFailed = false
    /// Whether the keeper's thread should end.
    var isStopping = false
    /// Whether the stream should end, because the graph was asked to end or has failed.
    var ending = Ending.none
    /// When the device must have ended its stream after it was told to, in nanoseconds of the timers' clock.
    var endingDeadline: UInt64 = 0
    /// The keeper's thread.
    var thread: NativeThread?

    /// The last known display name of the device.
    var label = ""
    /// The camera to look for when the device is away.
    var camera: CameraIdentity?
    /// The other cameras that were present when the camera was lost.
    var otherCameras: Set<CameraIdentity> = []
    /// The sound server's source with which the stream started.
    var firstSource: String?
    /// The device's latency, which the stand-in keeps.
    var latency = Duration.zero
    /// The stream's caps that a returning device must produce.
    var caps: Caps?
    /// The stream's full caps, with colorimetry and channel layout, which the stand-in keeps.
    var exactCaps: Caps?
    /// Whether the node no longer waits for the device, because another device could have its name.
    var isLostForGood = false
    /// The running time at which the device's data ended, while it is away.
    var lostAt: ClockTime?
    /// Why the last attempt failed.
    private var lastRefusal: MediaGraphError.Code?
    /// The refusals that were reported since the device was last absent.
    private var toldRefusals: Set<MediaGraphError.Code> = []
    /// When to try again, in nanoseconds of the timers' clock.
    var nextTry: UInt64 = 0
    /// When to give up an attempt whose device could be opened but sends no data, in nanoseconds of the timers' clock.
    var trialEnd: UInt64 = 0

    enum Ending: Sendable {
        /// The stream should continue.
        case none
        /// The stream should end.
        case asked
        /// The producer was told to end the stream.
        case told
    }

    /// The element that produces the stream.
    enum Producer: Sendable {
        case standIn(Element)
        case device(DeviceChain)
    }

    /// Returns the producer to be told to end the stream, and marks it as told. `nil` if the stream should continue, if
    /// the producer was told already, or while there is none.
    mutating func takeEnding() -> Producer? {
        guard let producer = endingProducer else { return nil }
        ending = .told
        return producer
    }

    private var endingProducer: Producer? {
        guard ending == .asked else { return nil }
        if let standIn { return .standIn(standIn.element) }
        // In a pause, a sink may hold a buffer. A request to the device would wait for that sink while
        // it holds the element's state lock, and the device would seem to hang.
        guard node == .playing, let chain, !isTrying, loss == nil else { return nil }
        return .device(chain)
    }

    /// Starts the time limit for a producer that was told to end the stream.
    mutating func allowEnding(from now: UInt64) {
        endingDeadline = now + DeviceSettings.endOfStreamTimeout.nanoseconds
    }

    /// Abandons the call that is under way, and further calls that open the device.
    mutating func abandon() {
        isUnwanted = true
        call?.abandon()
    }

    /// Records the loss of the device. If the device was told to end the stream, its stand-in has to be told instead.
    mutating func lose(_ error: MediaGraphError) {
        loss = error
        if ending == .told, standIn == nil { ending = .asked }
    }

    /// Records the result of an attempt, and returns whether to report it: the device is present but can't be used. The
    /// first such result isn't reported, because permissions are set a moment after a device is plugged in. `nil` if
    /// the device sent no data.
    mutating func takeNews(of refusal: MediaGraphError.Code?) -> Bool {
        defer { lastRefusal = refusal }
        guard let refusal, ![.noDevice, .deviceGone, .timeOut].contains(refusal) else {
            toldRefusals = []
            return false
        }
        return refusal == lastRefusal && toldRefusals.insert(refusal).inserted
    }

    /// Records that the reason of an absence was reported.
    mutating func told(_ refusal: MediaGraphError.Code) { (lastRefusal, toldRefusals) = (nil, [refusal]) }

    /// Nanoseconds until the next attempt. Attempts continue while calls hang, because a new device of the same name
    /// may be present; they become rarer with each call that hangs.
    var pause: UInt64 {
        let second: UInt64 = 1_000_000_000
        return unanswered <= 0 ? second : min(second << UInt64(unanswered + 1), 32 * second)
    }

    /// Each abandoned call costs a thread, so no more attempts are made after this many.
    private static let unansweredLimit = 10

    /// The keeper's next task.
    enum Job: Sendable {
        /// Replace the lost device by its stand-in.
        case handleLoss(MediaGraphError)
        /// Try to open the device.
        case attempt
        /// End an attempt that has failed; `nil` if the device sent no data.
        case endAttempt(MediaGraphError?)
        /// Replace the stand-in by the device.
        case comeBack
        /// Check whether a silent device counts as lost.
        case checkStall
        /// End the stream.
        case end
        /// Check whether the device has ended its stream.
        case checkEnding
        /// End the keeper's thread.
        case stop
        /// Ask for the next task again.
        case look
    }

    /// Returns the task that is due, or the time until which to wait for one; `nil` for no limit. All times are in
    /// nanoseconds.
    func next(at now: UInt64, stallTimeout: UInt64) -> (job: Job?, deadline: UInt64?) {
        if isStopping { return (.stop, nil) }
        guard !isMoving, !isOver else { return (nil, nil) }
        if endingProducer != nil { return (.end, nil) }
        guard node == .playing else { return (nil, nil) }
        guard let chain else {
            guard !isLostForGood, unanswered < Self.unansweredLimit, ending == .none else { return (nil, nil) }
            return now >= nextTry ? (.attempt, nil) : (nil, nextTry)
        }
        if isTrying {
            guard ending == .none else { return (nil, nil) }
            if let loss { return (.endAttempt(loss), nil) }
            if hasArrived { return (.comeBack, nil) }
            return now >= trialEnd ? (.endAttempt(nil), nil) : (nil, trialEnd)
        }
        if let loss { return (.handleLoss(loss), nil) }
        // A device that was told to end its stream has less time than the stall timeout.
        if ending == .told { return now >= endingDeadline ? (.checkEnding, nil) : (nil, endingDeadline) }
        guard stallTimeout > 0 else { return (nil, nil) }
        // With less than a millisecond, this thread would hardly ever wait.
        let stallTimeout = max(stallTimeout, 1_000_000)
        let limit = max(stallTimeout, chain.minimumTimeout(stallTimeout).nanoseconds)
        let silence = chain.flow.silence
        // The limit may become shorter without notice, so wait at most for the stall timeout.
        return silence >= limit ? (.checkStall, nil) : (nil, now + min(limit - silence, stallTimeout))
    }
}
