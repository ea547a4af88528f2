import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// Passes the samples of a pipe's appsink to the pipe's subscriptions: its handler and any number of delegates.
///
/// The appsink holds a reference, so the delivery may outlive the element. It posts messages through a weak reference
/// to the element.
///
/// `@unchecked Sendable`: the run is behind a lock. `receivers`, `only`, `seen` and `isOn` are used on the streaming
/// thread, and in state changes while no data flows.
final class PipeDelivery: AppSinkDelegate, @unchecked Sendable {
    private struct Run {
        enum Phase {
            case stopped
            /// After READY→PAUSED, before data: whether upstream is live can't be queried yet.
            case armed
            /// Data flows. The policy applies to the whole run.
            case flowing(OverflowPolicy, isLive: Bool)
        }

        var phase = Phase.stopped
        var settings = PipeSettings()
        /// The delivered format; `nil` to keep the stream's format.
        var format: VideoFormat?
        /// The incoming stream.
        var stream: StreamStart?
        /// The orientation in the stream's tags.
        var tagged = TaggedOrientation()
        var subscriptions: [Subscription] = []
        /// The handler's subscription, which is one of `subscriptions`. Made for each run.
        var handler: Subscription?
        /// Whether the frames of the pad `src` are converted like delivered ones.
        var convertsSource = false
        /// The height that is enough for all subscriptions, and for `src` if its frames are converted.
        var demand = Resolution.native

        /// Recomputes `demand`. Returns whether it changed. When the last subscription has ended, the demand stays: the
        /// sender mustn't be asked for more just because nobody reads any longer.
        mutating func updateDemand() -> Bool {
            let before = demand
            let wanted =
                subscriptions.map { $0.resolution ?? settings.resolution }
                + (convertsSource ? [settings.resolution] : [])
            demand = settings.bufferType == .raw ? Resolution.greatest(wanted) ?? demand : .native
            return demand != before
        }

        /// Whether frames that have an alpha plane keep it: if the settings allow it, and the handler accepts A420 as well.
        private var keepsAlpha: Bool {
            let supported = handler?.consumer.formats ?? []
            return settings.allowsAlpha && (supported.isEmpty || supported.contains(.a420))
        }

        var setup: Subscription.Setup {
            Subscription.Setup(
                format: format, keepsAlpha: keepsAlpha, resolution: settings.resolution,
                maxFrames: Int(settings.maxFrames), bufferType: settings.bufferType, memoryMode: settings.memoryMode,
                appliesRotation: settings.appliesRotation,
                appliesMirror: settings.appliesMirror, onError: settings.onError, stream: stream,
                tagged: tagged)
        }
    }

    let statistics = NodeStatistics()
    let owner: WeakElement
    let status: PipeStatus
    let alpha: PipeAlpha
    let appSink: AppSink
    /// Whether the pipe sets the appsink's `sync` property.
    private let setsSynchronization: Bool
    private let run = Mutex(Run())
    /// Counts changes of subscriptions and holds. The streaming thread compares this number instead of taking a lock.
    private let generation = Atomic<Int>(0)
    /// The reasons why no thread may wait in a handler at present.
    private let holds = BlockingMonitor<DeliveryHolds>([])

    // Used on the streaming thread.
    private var receivers: [Subscription] = []
    /// The receiver, if there is exactly one. Reached without reference counting for each frame.
    private var only: Unmanaged<Subscription>?
    private var seen = -1
    private var isOn = false
    /// Whether the frames that follow have an alpha channel, according to the stream.
    private var hasAlpha = false

    init(owner: WeakElement, appSink: AppSink, setsSynchronization: Bool = true) {
        self.owner = owner
        self.setsSynchronization = setsSynchronization
        self.appSink = appSink
        status = PipeStatus(owner: owner)
        alpha = PipeAlpha(owner: owner)
    }

    // MARK: Subscribing, from any thread

    /// Subscribes a delegate, with `auto` in the pipe's format. Takes ownership of the structure unless it throws.
    func subscribe(
        _ delegate: MGVideoConsumer, _ resolution: Resolution, _ format: PipeFormat
    ) throws(MediaGraphError) {
        // A format that the running stream can't be converted to is refused here, and not for each frame.
        if format != .auto, let caps = appSink.staticPad("sink")?.currentCaps {
            _ = try FramePlan(caps, run.withLock { $0.setup }.with(resolution, format))
        }
        // A delegate that no longer exists may still have a delivery thread, and hold the pipe's status.
        for gone in subscriptions where !gone.consumer.isAlive {
            lost(gone)
            gone.cancel()
        }
        // A delegate that was detached because it failed may try again.
        if let identity = delegate.identity,
            subscriptions.contains(where: { $0.isDetached && $0.consumer.identity == identity })
        {
            try unsubscribe(identity)
        }
        let isNew = run.withLock { run in
            guard !run.subscriptions.contains(where: { $0.consumer.identity == delegate.identity }) else {
                return false
            }
            let subscription = Subscription(
                ConsumerHandle(delegate), resolution: resolution, format: format, pipe: self)
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
            throw .alreadyInUse(.init(owner.name, actual: "\(loadName(delegate.name)) is already subscribed"))
        }
        receiversChanged()
    }

    /// Ends a delegate's subscription. Blocks until no callback is in flight, except when called from a callback. No
    /// callback follows.
    func unsubscribe(_ identity: UnsafeRawPointer) throws(MediaGraphError) {
        let found = run.withLock { run in
            run.subscriptions.firstIndex { $0.consumer.identity == identity }.map { run.subscriptions.remove(at: $0) }
        }
        guard let found else {
            throw .wrongUsage(.init(owner.name, actual: "the delegate isn't subscribed"))
        }
        receiversChanged()
        found.cancel()
    }

    /// Changes the resolution of a delegate, from the next frame on.
    func setResolution(_ resolution: Resolution, of identity: UnsafeRawPointer) throws(MediaGraphError) {
        let isFound = run.withLock { run in
            let found = run.subscriptions.first { $0.consumer.identity == identity }
            found?.setResolution(resolution)
            return found != nil
        }
        guard isFound else { throw .wrongUsage(.init(owner.name, actual: "the delegate isn't subscribed")) }
        receiversChanged()
    }

    /// Removes the subscription of a weakly held delegate that no longer exists, and posts a warning.
    func lost(_ subscription: Subscription) {
        let wasThere = run.withLock { run in
            let count = run.subscriptions.count
            run.subscriptions.removeAll { $0 === subscription }
            return run.subscriptions.count < count
        }
        guard wasThere else { return }
        receiversChanged()
        owner.element?.postWarning(
            .settings, "\(owner.name): \(subscription.consumer.name) was deallocated and is no longer subscribed",
            debug: "a pipe holds its delegates weakly: keep a reference to them, or unsubscribe them")
    }

    /// Notices that a receiver was detached because it failed. Called in that receiver's callback.
    func receiverDetached() {
        generation.add(1, ordering: .releasing)
        if subscriptions.allSatisfy(\.isDetached) { alpha.postLast() }
    }

    /// Makes the streaming thread read the subscriptions again, and tells upstream if the demand changed.
    private func receiversChanged() {
        generation.add(1, ordering: .releasing)
        let hasNewDemand = run.withLock { run in
            guard case .stopped = run.phase else { return run.updateDemand() }
            return false
        }
        if hasNewDemand { announceDemand() }
    }

    /// How this run's frames are delivered to a receiver without a resolution and a format of its own.
    var setup: Subscription.Setup { run.withLock { $0.setup } }

    /// The height that is enough for all subscriptions.
    var demand: Resolution { run.withLock { $0.demand } }

    /// The formats of the delegates' subscriptions.
    var subscribedFormats: [PipeFormat] {
        run.withLock { run in run.subscriptions.filter { $0 !== run.handler }.map(\.format) }
    }

    /// Whether a receiver owns its frames.
    var hasQueuingReceiver: Bool { subscriptions.contains { $0.consumer.queues } }

    /// Whether a run is in progress.
    var isRunning: Bool { run.withLock { if case .stopped = $0.phase { false } else { true } } }

    /// Breaks the reference cycles with the subscriptions and the appsink. Called when the element is finalized.
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

    /// READY→PAUSED, before data flows.
    func start(
        _ settings: PipeSettings, handler: ConsumerHandle?, format: VideoFormat?, convertsSource: Bool = false
    ) {
        statistics.reset()
        holds.withLock { $0 = [] }
        if setsSynchronization { appSink.setSynchronized(settings.synchronization == .on) }
        (isOn, hasAlpha) = (false, false)
        run.withLock { run in
            run.phase = .armed
            run.stream = nil
            run.tagged = TaggedOrientation()
            run.settings = settings
            run.convertsSource = convertsSource
            run.format = format
            run.handler = handler.map { Subscription($0, resolution: nil, pipe: self) }
            run.subscriptions.insert(contentsOf: run.handler.map { [$0] } ?? [], at: 0)
            for subscription in run.subscriptions { subscription.arm(run.setup) }
            run.demand = run.settings.resolution
            _ = run.updateDemand()
        }
        generation.add(1, ordering: .releasing)
    }

    /// Called in PAUSED. Announces the demand to upstream, which may already run and may have queried before the pipe
    /// could answer.
    func started() { if demand != .native { announceDemand() } }

    private func announceDemand() { appSink.staticPad("sink")?.sendUpstream(Resolution.demandChanged) }

    /// Keeps all threads from waiting in a handler until `release`. May be called from any thread.
    func hold(_ reason: DeliveryHolds) {
        holds.withLock { _ = $0.insert(reason) }
        generation.add(1, ordering: .releasing)
        for subscription in subscriptions { subscription.hold(reason) }
    }

    func release(_ reason: DeliveryHolds) {
        for subscription in subscriptions { subscription.release(reason) }
        // Last, so that a streaming thread that continues finds handlers that may wait.
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

    // MARK: Samples and events from the appsink, on the streaming thread

    override func received(_ sample: borrowing Sample) -> FlowReturn {
        if generation.load(ordering: .acquiring) != seen || !isOn, !prepare() { return .flushing }
        if let only { return only._withUnsafeGuaranteedRef { $0.receive(sample) } }
        if receivers.isEmpty { statistics.countFrame() }
        var result = FlowReturn.ok
        for receiver in receivers where receiver.receive(sample) == .error { result = .error }
        return result
    }

    /// Updates the receivers before the first frame and after a change. Returns false if the frame must not be
    /// delivered.
    @inline(never)
    private func prepare() -> Bool {
        seen = generation.load(ordering: .acquiring)
        // In PAUSED, the sink holds frames back. But a sink whose pending state is PLAYING lets one frame through
        // before its state change runs, and holds the preroll lock, which PLAYING needs. No handler may wait then.
        while case let reasons = holds.withLock({ $0 }), !reasons.isEmpty {
            // During a flush or a stop, the frame must not be delivered.
            guard reasons == .paused, appSink.leavePrerollLock({ _ = holds.wait { $0 == .paused ? nil : true } }) else {
                return false
            }
        }
        resolveLiveness(orAssume: false)
        setReceivers(subscriptions.filter { !$0.isDetached })
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
        case .custom(let structure) where structure.name == AlphaChannelMessage.name:
            guard let isOn = structure["enabled", as: Bool.self], isOn != hasAlpha else { return }
            hasAlpha = isOn
            // A detached receiver would never reach the change.
            let (change, subscriptions) = (alpha.recordChange(isOn: isOn), subscriptions.filter { !$0.isDetached })
            for subscription in subscriptions { subscription.receive(.alpha(change)) }
            if subscriptions.isEmpty { alpha.post(change) }
        case .streamStart(let stream):
            let subscriptions = run.withLock { run in
                run.stream = stream
                run.tagged = TaggedOrientation()
                return run.subscriptions
            }
            for subscription in subscriptions { subscription.receive(.stream(stream)) }
        case .orientation(let tag):
            // Read and written under separate locks: only the streaming thread changes it.
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
        // A stream may end before its first frame.
        resolveLiveness(orAssume: false)
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

    /// Queries whether upstream is live, and resolves the `auto` settings for the run. Called when the caps arrive,
    /// since videotestsrc and v4l2src fail a LATENCY query before that, and again with the first frame. If nothing
    /// answers the query, `assumed` counts.
    func resolveLiveness(orAssume assumed: Bool? = nil) {
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
