import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphElements
import X11

/// Creating and replacing the device's elements and their stand-in, and the keeper's thread, which does that while the
/// graph runs. These methods may only be called by the thread that owns the elements; see DeviceSourceElement+States.
extension DeviceSourceElement {
    var policy: ReconnectPolicy { settings.current.reconnect }

    // MARK: The device's elements

    /// Creates the device's elements and opens the device. With `isHeld`, it is an attempt: the first buffer waits
    /// until the device replaces its stand-in.
    func openChain(isHeld: Bool) throws(MediaGraphError) {
        let chain: DeviceChain
        do throws(MediaGraphError) { chain = try makeChain(isHeld: isHeld) } catch {
            deviceState.withLock { $0.loss = error }
            throw error
        }
        chain.add(to: self)
        deviceState.withLock { deviceState in
            (deviceState.chain, deviceState.isLeft) = (chain, false)
            (deviceState.loss, deviceState.hasArrived, deviceState.isTrying, deviceState.label) = (
                nil, false, true, chain.label
            )
        }
        let camera = try ask(chain) { () throws(MediaGraphError) in
            try chain.open()
            return chain.camera
        }
        deviceState.withLock { deviceState in
            deviceState.camera = camera ?? deviceState.camera
            if !isHeld { deviceState.isTrying = false }
        }
    }

    private func makeChain(isHeld: Bool) throws(MediaGraphError) -> DeviceChain {
        let settings = settings.current
        let (camera, others) = deviceState.withLock { ($0.camera, $0.otherCameras) }
        let isOff = isHeld && settings.reconnect == .gap
        // A weak reference, because the element holds the flow and the chain.
        let node = Node(instance)
        let flow = DeviceFlow(isHeld: isHeld, tellsStatus: isOff, statistics, clock: timerClock) { event in
            node.tell { $0.flowed(event) }
        }
        let callTimeout = callTimeout
        // The list of devices has a shorter time limit, so that a provider that hangs doesn't hide the devices of the
        // others.
        let listTimeout = callTimeout - min(callTimeout / 2, .seconds(1))
        let label = settings.source.isEmpty ? "the default \(settings.kind.nick)" : settings.source
        // Used until the device's own name is known.
        deviceState.withLock { if $0.label.isEmpty { $0.label = label } }
        let chain = try ask(label, within: callTimeout, isOpening: true) { [deviceState] () throws(MediaGraphError) in
            let text =
                settings.source.isEmpty ? try DefaultDevice.text(settings.kind, within: listTimeout) : settings.source
            let factories = Description(text).resolved().factories
            if factories.contains(ScreenCapture.factory) { Self.watchScreen(of: deviceState) }
            let chain = try DeviceChain(text, of: factories, isOutlived: settings.reconnect != .never, flow)
            if let camera { try chain.select(camera: camera, besides: others) }
            return chain
        }
        if chain.isFromSoundServer {
            chain.device.watchProperty("current-device") { node.tell { $0.deviceMoved() } }
        }
        return chain
    }

    /// Notices the losses of screens and windows from now on, until the node is in NULL. Called before the screen's
    /// element is made, because the server may end while it connects.
    private static func watchScreen(of deviceState: BlockingMonitor<DeviceState>) {
        let listener = XConnections.Listener { [weak deviceState] loss in
            guard let deviceState else { return }
            let chain = deviceState.withLock { $0.chain }
            switch loss {
            case .server(let name):
                // Even if it isn't the device's server: the process ends.
                let error = ScreenCapture.serverGone(name)
                deviceState.withLock { deviceState in
                    (deviceState.loss, deviceState.serverLoss) = (error, error)
                    deviceState.abandon()
                }
            case .window(let number, let server):
                guard let error = chain?.capture?.error(ofWindow: number, on: server) else { return }
                let isNews = deviceState.withLock { deviceState in
                    guard deviceState.chain === chain, deviceState.loss == nil else { return false }
                    deviceState.loss = error
                    return true
                }
                guard isNews else { return }
            }
            // The keeper handles the loss.
            chain?.flow.cut()
        }
        deviceState.withLock { $0.screenListener = $0.screenListener ?? listener }
    }

    /// Closes the device and removes its elements.
    func dropChain(within time: Duration = DeviceSettings.closeTimeout) {
        let (chain, wasLeft) = deviceState.withLock { ($0.chain, $0.isLeft) }
        if let chain {
            chain.flow.cut()
            // Closed while it is still in the bin, so that its messages are recognized as the device's.
            if !wasLeft { try? ask(chain.label, within: time) { chain.close() } }
            chain.remove(from: self, stops: !deviceState.withLock { $0.isLeft })
        }
        deviceState.withLock { deviceState in
            (deviceState.chain, deviceState.isTrying, deviceState.hasArrived, deviceState.isLeft) = (
                nil, false, false, false
            )
        }
    }

    func dropStandIn() {
        let standIn = deviceState.withLock { deviceState in
            defer { deviceState.standIn = nil }
            return deviceState.standIn
        }
        guard let standIn else { return }
        standIn.element.setState(.null)
        remove(standIn.element)
    }

    // MARK: The keeper's thread

    func keep() {
        while true {
            let stallTimeout = settings.current.stallTimeout
            switch nextJob(stallTimeout) {
            case .stop: return
            case .look: continue
            case .handleLoss(let loss): handleLoss(loss)
            case .checkStall: checkStall(stallTimeout)
            case .attempt: attempt()
            case .endAttempt(let loss): endAttempt(loss)
            case .comeBack: comeBack()
            case .checkEnding: checkEnding()
            case .end: break
            }
            followStates()
        }
    }

    /// Waits for the next task.
    private func nextJob(_ stallTimeout: UInt64) -> DeviceState.Job {
        let clock = timerClock
        let deadline = deviceState.withLock(wakes: false) {
            $0.next(at: clock.now, stallTimeout: stallTimeout).deadline
        }
        var isFirst = true
        let job = deviceState.wait(until: deadline, on: clock) { deviceState -> DeviceState.Job? in
            let next = deviceState.next(at: clock.now, stallTimeout: stallTimeout)
            switch next.job {
            case .stop: break
            case .some: deviceState.isMoving = true
            case nil:
                // Another thread has changed the state, or an earlier deadline now applies.
                let isNews = !isFirst || next.deadline ?? .max < deadline ?? .max
                isFirst = false
                return isNews ? .look : nil
            }
            return next.job
        }
        return job ?? .look
    }

    /// Handles the loss of the device: replaces it by its stand-in, or ends the graph.
    private func handleLoss(_ loss: MediaGraphError) {
        // The stream ends after the error, as with GStreamer's own sources, so that files are finished.
        let isServerLost = deviceState.withLock { $0.serverLoss } != nil
        if policy == .never || isServerLost { failOnce(loss) }
        let isForGood = !isServerLost && deviceState.withLock { $0.chain }?.capture?.isLostForGood ?? false
        let loss = isForGood && policy != .never ? Self.forGood(loss.detail) : loss
        let camera = deviceState.withLock { $0.camera }
        let others = camera.map { CameraIdentity.all().subtracting([$0]) } ?? []
        let chain = deviceState.withLock { deviceState in
            deviceState.lose(loss)
            (deviceState.otherCameras, deviceState.isLostForGood) = (others, isForGood)
            return deviceState.chain
        }
        keepCaps()
        chain?.flow.cut()
        let silence = chain?.flow.silence ?? 0
        let now = element.currentRunningTime?.nanoseconds ?? 0
        dropChain(within: DeviceSettings.removeTimeout)
        // Read after the device's threads have ended. For a device without timestamps, use the time of its last buffer.
        let lostAt = chain?.flow.end
        let time = lostAt ?? ClockTime(nanoseconds: now - min(now, silence))
        deviceState.withLock { deviceState in
            deviceState.nextTry = timerClock.now + deviceState.pause
        }
        standIn(from: lostAt, at: time, loss)
    }

    /// Remembers the stream's caps for the stand-in.
    func keepCaps() {
        guard let caps = pad?.currentCaps else { return }
        deviceState.withLock { ($0.caps, $0.exactCaps) = (caps.continuable, caps) }
    }

    private static func forGood(_ detail: MediaGraphError.Detail) -> MediaGraphError {
        let actual =
            "\(detail.actual). X reuses window numbers, so the graph doesn't wait for this one; to wait for a window, set xname instead of xid"
        return .deviceGone(.init(detail.subject, expected: detail.expected, actual: actual))
    }

    /// Shows a stand-in downstream, and reports the loss unless it was reported before.
    func standIn(from begin: ClockTime?, at time: ClockTime = .zero, _ loss: MediaGraphError) {
        let (label, latency, known, exact) = deviceState.withLock { ($0.label, $0.latency, $0.caps, $0.exactCaps) }
        let downstream = pad?.peerCaps()
        // Pictures and silence need a format, even if the device has never been present.
        let caps =
            known ?? (policy == .slate ? guessedType(downstream).flatMap { Caps.beginning($0, downstream) } : nil)
        let given = exact ?? caps
        let content = given.map { filling($0, label) } ?? .gaps
        guard let standIn = DeviceStandIn.make(content, caps: given, from: begin, latency: latency) else { return }
        add(standIn.element)
        show(standIn.standIn.sourcePad)
        let isNews = deviceState.withLock { deviceState in
            deviceState.standIn = standIn
            deviceState.caps = caps
            // A device that returned but sent no data is still away.
            guard deviceState.lostAt == nil else { return false }
            deviceState.lostAt = time
            deviceState.told(loss.code)
            return true
        }
        Self.log.log(.info, element, "the device is away: \(loss)")
        if isNews, policy != .never { post(DeviceMessage.lost(label, at: time, loss)) }
        element.postLatencyChanged()
    }

    private func filling(_ caps: Caps, _ label: String) -> DeviceStandIn.Content {
        guard policy == .slate else { return .gaps }
        if let info = AudioInfo(caps) { return .silence(info) }
        guard let info = VideoInfo(caps), let slate = Slate("\(label) is away", info) else { return .gaps }
        let rate = info.framesPerSecond
        return .picture(slate, every: rate.value > 0 ? rate : Fraction(30, 1))
    }

    /// Returns the media type of a device that hasn't been present yet; `nil` if it can't be told.
    func guessedType(_ downstream: Caps?) -> MediaType? {
        let settings = settings.current
        guard !settings.source.isEmpty else { return settings.kind == .microphone ? .audio : .video }
        // Looks at factories only: creating the elements may connect to a server that hangs.
        let factories = Description(settings.source).resolved().outline.elements.map(\.factory)
        return factories.reversed().lazy.compactMap(MediaType.init(givenBy:)).first
            ?? downstream.flatMap(MediaType.init)
    }

    /// Tries to open the device again. It counts as returned when its first buffer arrives.
    private func attempt() {
        do throws(MediaGraphError) {
            try openChain(isHeld: true)
            guard let chain = deviceState.withLock({ $0.chain }) else { return }
            let caps = deviceState.withLock { $0.caps }
            let formats = try ask(chain) { chain.queryFormats() }
            let output = try chain.choose(of: formats, for: caps ?? pad?.peerCaps(), isFixed: caps != nil, in: self)
            deviceState.withLock { $0.output = output }
            try ask(chain) { () throws(MediaGraphError) in try chain.start() }
            let trialTimeout = max(.nanoseconds(settings.current.stallTimeout), DeviceSettings.minimumTimeout)
            deviceState.withLock { $0.trialEnd = timerClock.time(after: trialTimeout) }
        } catch { endAttempt(error) }
    }

    /// Ends an attempt that has failed.
    private func endAttempt(_ loss: MediaGraphError?) {
        Self.log.log(.debug, element, "still away: \(loss.map { "\($0)" } ?? "can be opened, but sends no data")")
        let isNews = deviceState.withLock { deviceState in
            deviceState.loss = loss ?? .deviceGone(.init(deviceState.label, actual: "sends no data"))
            return deviceState.takeNews(of: loss?.code)
        }
        dropChain()
        if let loss, isNews { postWarning(Self.problem(of: loss), "\(loss); retrying") }
        if let loss = deviceState.withLock({ $0.serverLoss }) { failOnce(loss) }
        deviceState.withLock { $0.nextTry = timerClock.now + $0.pause }
    }

    /// Replaces the stand-in by the device.
    private func comeBack() {
        let (chain, output, standIn) = deviceState.withLock { ($0.chain, $0.output, $0.standIn) }
        guard let chain else { return }
        if let standIn, !rests(standIn.standIn) { return }
        dropStandIn()
        show(output)
        chain.flow.open(from: standIn?.standIn.end ?? .zero)
        deviceState.withLock { deviceState in (deviceState.isTrying, deviceState.output) = (false, nil) }
        chain.flow.touch()
        tellFormat(chain)
        element.postLatencyChanged()
    }

    /// Makes the stand-in rest, and waits until downstream has taken its last buffer. If the graph pauses, stops or
    /// ends meanwhile, lets the stand-in continue and returns false, because a sink in PAUSED keeps the buffer.
    ///
    /// Without this wait, setting the stand-in to NULL would block on that sink with the stand-in's state lock held.
    /// The bin's change to PAUSED takes the same lock, even though the stand-in's state is locked, and would block too.
    private func rests(_ standIn: DeviceStandIn) -> Bool {
        standIn.rest()
        while !standIn.isAtRest {
            let isWanted = deviceState.withLock(wakes: false) {
                $0.node == .playing && $0.ending == .none && !$0.isStopping
            }
            guard isWanted else {
                standIn.resume()
                return false
            }
            sleepBriefly()
        }
        return true
    }

    /// Handles a device that was told to end its stream and hasn't: it counts as lost if it is silent.
    private func checkEnding() {
        guard let chain = deviceState.withLock({ $0.isOver ? nil : $0.chain }) else { return }
        let isSilent = chain.flow.silence >= DeviceSettings.endOfStreamTimeout.nanoseconds
        guard isSilent, pad?.peer?.isReceiving != true else {
            return deviceState.withLock { $0.allowEnding(from: timerClock.now) }
        }
        let actual =
            chain.flow.hasBegun
            ? "didn't end its stream; it may be hanging" : "didn't end its stream, and has sent no data"
        handleLoss(.deviceGone(.init(chain.label, actual: actual)))
    }

    /// Handles a device that has been silent for its time limit: it counts as lost, unless it waits for downstream.
    private func checkStall(_ stallTimeout: UInt64) {
        guard let chain = deviceState.withLock({ $0.chain }) else { return }
        // A device that waits for downstream isn't lost.
        guard pad?.peer?.isReceiving != true else { return chain.flow.touch() }
        let least = chain.minimumTimeout(stallTimeout)
        let problem =
            if !chain.flow.hasBegun {
                "sent no data"
            } else if least > .nanoseconds(stallTimeout) {
                "sent no data within \(DeviceSettings.text(least)) after its sound server woke up"
            } else {
                "sent no data for \(DeviceSettings.text(.nanoseconds(stallTimeout))) (stall-timeout)"
            }
        handleLoss(.deviceGone(.init(chain.label, actual: problem)))
    }
}

/// A weak reference to the node, for callbacks of the device's elements: abandoned elements may outlive the node.
private struct Node: Sendable {
    private let weak: WeakElement

    init(_ instance: ElementInstance) { weak = WeakElement(instance) }

    func tell(_ body: (DeviceSourceElement) -> Void) {
        guard let element = weak.element else { return }
        body(ElementClass.implementation(of: element.element, as: DeviceSourceElement.self))
    }
}
