import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// Hands what a pipe's appsink receives to the pipe's subscriptions: its handler, and any number of delegates.
///
/// The appsink holds it, so it outlives the element where it must; it posts through a weak reference.
///
/// `@unchecked Sendable`: the run is behind a lock; `receivers`, `only`, `seen` and `isOn` belong to the streaming thread, or to the
/// change of state while no data flows.
final class PipeDelivery: AppSinkDelegate, @unchecked Sendable {
    private struct Run {
        enum Phase {
            case stopped
            /// READY→PAUSED has been, and nothing has come: whether upstream is live can't be asked yet.
            case armed
            /// Data flows; the policy holds for the run.
            case flowing(OverflowPolicy, isLive: Bool)
        }

        var phase = Phase.stopped
        var settings = PipeSettings()
        /// `nil`: as the stream is.
        var format: VideoFormat?
        /// Which stream it is that comes in.
        var stream: StreamStart?
        /// What its tags say.
        var tagged = TaggedOrientation()
        var subscriptions: [Subscription] = []
        /// The handler's among them: made for each run.
        var handler: Subscription?
        /// What of the stream's height is enough for all of them.
        var demand = Resolution.native

        /// True when it has changed. Where nobody receives it is as the property says.
        mutating func updateDemand() -> Bool {
            let before = demand
            let wanted = subscriptions.map { $0.resolution ?? settings.resolution }
            demand = settings.bufferType == .raw ? Resolution.greatest(wanted) ?? settings.resolution : .native
            return demand != before
        }

        var setup: Subscription.Setup {
            Subscription.Setup(
                format: format, resolution: settings.resolution, maxFrames: Int(settings.maxFrames),
                bufferType: settings.bufferType, appliesRotation: settings.appliesRotation,
                appliesMirror: settings.appliesMirror, onError: settings.onError, stream: stream,
                tagged: tagged)
        }
    }

    let statistics = NodeStatistics()
    let owner: WeakElement
    let status: PipeStatus
    let appSink: AppSink
    /// Whether the appsink's `sync` is the pipe's to set.
    private let setsSynchronization: Bool
    private let run = Mutex(Run())
    /// Counts changes of the subscriptions: the streaming thread looks at a number, not at a lock.
    private let generation = Atomic<Int>(0)
    /// Why nobody may wait in a handler now.
    private let holds = BlockingMonitor<DeliveryHolds>([])

    // The streaming thread's own.
    private var receivers: [Subscription] = []
    /// The receiver, where there is one: reached without counting references for each frame.
    private var only: Unmanaged<Subscription>?
    private var seen = -1
    private var isOn = false

    init(owner: WeakElement, appSink: AppSink, setsSynchronization: Bool = true) {
        self.owner = owner
        self.setsSynchronization = setsSynchronization
        self.appSink = appSink
        status = PipeStatus(owner: owner)
    }

    // MARK: Subscribing, from any thread

    /// Takes the delegate over, unless it throws.
    func subscribe(_ delegate: MGVideoConsumer, resolution: Resolution) throws(MediaGraphError) {
        // One that is gone may have a thread, and have been told that the stream is on.
        for gone in subscriptions where !gone.consumer.isAlive {
            lost(gone)
            gone.cancel()
        }
        let isNew = run.withLock { run in
            guard !run.subscriptions.contains(where: { $0.consumer.identity == delegate.identity }) else {
                return false
            }
            let subscription = Subscription(ConsumerHandle(delegate), resolution: resolution, pipe: self)
            run.subscriptions.append(subscription)
            switch run.phase {
            case .stopped: break
            case .armed: subscription.arm(run.setup)
            case .flowing(let policy, let isLive):
                subscription.arm(run.setup)
                subscription.open(policy, isLive: isLive)
            }
            return true
        }
        guard isNew else {
            throw .alreadyInUse(
                .init(
                    owner.name, expected: "a delegate that isn't subscribed yet",
                    actual: "\(loadName(delegate.name)) again"))
        }
        receiversChanged()
    }

    /// When it returns no callback is in flight and none will come; from inside a callback it returns at once.
    func unsubscribe(_ identity: UnsafeRawPointer) throws(MediaGraphError) {
        let found = run.withLock { run in
            run.subscriptions.firstIndex { $0.consumer.identity == identity }.map { run.subscriptions.remove(at: $0) }
        }
        guard let found else {
            throw .wrongUsage(.init(owner.name, expected: "a delegate that is subscribed", actual: "one that isn't"))
        }
        receiversChanged()
        found.cancel()
    }

    /// A delegate that was held weakly is gone: as if it had unsubscribed.
    func lost(_ subscription: Subscription) {
        let wasThere = run.withLock { run in
            let count = run.subscriptions.count
            run.subscriptions.removeAll { $0 === subscription }
            return run.subscriptions.count < count
        }
        guard wasThere else { return }
        receiversChanged()
        owner.element?.postWarning(
            .settings, "\(owner.name): \(subscription.consumer.name) is gone and counts as unsubscribed",
            debug: "a pipe holds its delegates weakly: keep them, or unsubscribe them")
    }

    private func receiversChanged() {
        generation.add(1, ordering: .releasing)
        let isOther = run.withLock { run in
            guard case .stopped = run.phase else { return run.updateDemand() }
            return false
        }
        if isOther { tellDemand() }
    }

    /// What of the stream's height is enough.
    var demand: Resolution { run.withLock { $0.demand } }

    /// Whether a run is going on.
    var isRunning: Bool { run.withLock { if case .stopped = $0.phase { false } else { true } } }

    /// The element is gone: subscriptions hold the delivery, which holds them.
    func close() {
        let subscriptions = run.withLock { run in
            defer { run.subscriptions = [] }
            return run.subscriptions
        }
        withExtendedLifetime(subscriptions) {}
        setReceivers([])
        appSink.removeDelegate()
    }

    // MARK: Changes of state

    /// READY→PAUSED: no data flows yet.
    func start(_ settings: PipeSettings, handler: ConsumerHandle?, format: VideoFormat?) {
        statistics.reset()
        holds.withLock { $0 = [] }
        if setsSynchronization { appSink.setSynchronized(settings.synchronization == .on) }
        isOn = false
        run.withLock { run in
            run.phase = .armed
            run.stream = nil
            run.tagged = TaggedOrientation()
            run.settings = settings
            run.format = format
            run.handler = handler.map { Subscription($0, resolution: nil, pipe: self) }
            run.subscriptions.insert(contentsOf: run.handler.map { [$0] } ?? [], at: 0)
            for subscription in run.subscriptions { subscription.arm(run.setup) }
            _ = run.updateDemand()
        }
        generation.add(1, ordering: .releasing)
    }

    /// In PAUSED: upstream may have run before, and asked when nobody could answer.
    func started() { if demand != .native { tellDemand() } }

    private func tellDemand() { appSink.staticPad("sink")?.sendUpstream(Resolution.demandChanged) }

    /// For as long as `reason` lasts, nobody waits in a handler. Any thread.
    func hold(_ reason: DeliveryHolds) {
        holds.withLock { _ = $0.insert(reason) }
        generation.add(1, ordering: .releasing)
        for subscription in subscriptions { subscription.hold(reason) }
    }

    func release(_ reason: DeliveryHolds) {
        for subscription in subscriptions { subscription.release(reason) }
        // Whoever goes on then finds handlers that wait again.
        holds.withLock { _ = $0.remove(reason) }
    }

    func flushStopped() {
        for subscription in subscriptions { subscription.flushStopped() }
        holds.withLock { _ = $0.remove(.flushing) }
    }

    /// PAUSED→READY, after data flow has stopped.
    func stop() {
        let subscriptions = run.withLock { run in
            run.phase = .stopped
            return run.subscriptions
        }
        for subscription in subscriptions { subscription.stop() }
        changeStatus(false)
        setReceivers([])
        run.withLock { run in
            run.subscriptions.removeAll { $0 === run.handler }
            run.handler = nil
        }
    }

    private var subscriptions: [Subscription] { run.withLock { $0.subscriptions } }

    // MARK: What the appsink receives, on the streaming thread

    override func received(_ sample: borrowing Sample) -> FlowReturn {
        if generation.load(ordering: .acquiring) != seen || !isOn, !look() { return .flushing }
        if let only { return only._withUnsafeGuaranteedRef { $0.receive(sample) } }
        if receivers.isEmpty { statistics.countFrame() }
        var result = FlowReturn.ok
        for receiver in receivers where receiver.receive(sample) == .error { result = .error }
        return result
    }

    /// Before the first frame, and when something has changed. False when nobody is to have the frame any more.
    @inline(never)
    private func look() -> Bool {
        seen = generation.load(ordering: .acquiring)
        // In PAUSED the sink keeps frames to itself. But when it is about to play, as its pending state says, it lets one through
        // before it is told, with the lock held that PLAYING needs: nobody may wait in the handler then.
        while case let reasons = holds.withLock({ $0 }), !reasons.isEmpty {
            // By the time that it is a flush's or a stop's, nobody is to have the frame.
            guard reasons == .paused, appSink.leavePrerollLock({ _ = holds.wait { $0 == .paused ? nil : true } }) else {
                return false
            }
        }
        findOutLiveness(orAssume: false)
        setReceivers(subscriptions)
        changeStatus(true)
        return true
    }

    private func setReceivers(_ list: [Subscription]) {
        receivers = list
        only = list.count == 1 ? Unmanaged.passUnretained(list[0]) : nil
    }

    override func received(_ event: StreamEvent) {
        switch event {
        case .custom(let structure) where structure.name == StreamStatus.eventName:
            guard let on = structure["on", as: Bool.self], on || isOn else { return }
            if on { changeStatus(on) }
            for subscription in subscriptions { subscription.receive(.status(on)) }
            if !on { changeStatus(on) }
        case .streamStart(let stream):
            let subscriptions = run.withLock { run in
                run.stream = stream
                run.tagged = TaggedOrientation()
                return run.subscriptions
            }
            for subscription in subscriptions { subscription.receive(.stream(stream)) }
        case .orientation(let tag):
            // Only the streaming thread changes it.
            var tagged = run.withLock { $0.tagged }
            tagged.add(tag, at: appSink.staticPad("sink"))
            let subscriptions = run.withLock { run in
                run.tagged = tagged
                return run.subscriptions
            }
            for subscription in subscriptions { subscription.receive(.orientation(tagged)) }
        default: break
        }
    }

    override func reachedEndOfStream() {
        // A stream may end before it has begun.
        findOutLiveness(orAssume: false)
        let subscriptions = subscriptions
        for subscription in subscriptions { subscription.receive(.end) }
        for subscription in subscriptions { subscription.waitForEnd() }
        changeStatus(false)
    }

    private func changeStatus(_ on: Bool) {
        guard on != isOn else { return }
        isOn = on
        let stream = ObjectIdentifier(self)
        if on { status.hold(for: stream) } else { status.release(for: stream) }
    }

    /// `auto` settings follow upstream, and hold for the run. Asked when the stream has a format, since videotestsrc and
    /// v4l2src fail a LATENCY query until then; and with the first frame once more, when what nobody answers is `assumed`.
    func findOutLiveness(orAssume assumed: Bool? = nil) {
        guard case .armed = run.withLock({ $0.phase }),
            let isLive = appSink.staticPad("sink")?.upstreamLatency()?.isLive ?? assumed
        else { return }
        run.withLock { run in
            guard case .armed = run.phase else { return }
            let policy = run.settings.backPressure.resolved(isLive: isLive)
            if setsSynchronization, run.settings.synchronization == .auto { appSink.setSynchronized(isLive) }
            for subscription in run.subscriptions { subscription.open(policy, isLive: isLive) }
            run.phase = .flowing(policy, isLive: isLive)
        }
    }
}
