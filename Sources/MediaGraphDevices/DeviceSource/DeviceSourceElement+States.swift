import GStreamer
import MediaGraphCore

/// State changes of the node.
///
/// One thread at a time owns the device's elements (`isMoving`): the thread that changes the node's state, or the
/// keeper's thread, which waits for the device's failure or return. If the node's state changes while the keeper owns
/// the elements, the keeper brings them to the new state.
extension DeviceSourceElement {
    /// How long a state change waits for the owner of the elements.
    private static let grace = Duration.milliseconds(500)

    // MARK: From NULL to PAUSED

    /// NULL→READY: opens the device. Returns false if it can't be opened and the node doesn't wait for it. A graph that
    /// can run without its devices opens all of them at the same time.
    func open() -> Bool {
        deviceState.withLock { ($0.node, $0.refusal, $0.isUnwanted) = (.ready, nil, false) }
        guard policy != .never else {
            openFirst()
            return finishOpening()
        }
        deviceState.withLock { deviceState in
            deviceState.openingEnd = timerClock.time(after: DeviceSettings.startTimeout)
            // The thread ends before the element leaves READY.
            deviceState.opening = NativeThread("devicesource") { [element] in
                withExtendedLifetime(element) { self.openFirst() }
            }
        }
        return true
    }

    private func openFirst() {
        do throws(MediaGraphError) { try openChain(isHeld: false) } catch {
            let isWaitedFor = waitsForDevice(after: error)
            deviceState.withLock { $0.refusal = isWaitedFor ? nil : error }
        }
    }

    /// Waits until the device was opened. Returns false if it couldn't be opened and the node doesn't wait for it; the
    /// error is on the bus then.
    func finishOpening() -> Bool {
        waitForOpening()
        guard let refusal = deviceState.withLock({ $0.refusal }) else { return true }
        fail(refusal)
        return false
    }

    /// Waits for the thread that opens the device. Call it before any other state change.
    private func waitForOpening() {
        let opening = deviceState.withLock { deviceState in
            defer { deviceState.opening = nil }
            return deviceState.opening
        }
        opening?.join()
        deviceState.withLock { $0.openingEnd = nil }
    }

    /// Handles a device that couldn't be opened. Returns false if the node doesn't wait for it, because `reconnect` is
    /// `never`, or because the error can't go away.
    private func waitsForDevice(after error: MediaGraphError) -> Bool {
        let (chain, serverLoss) = deviceState.withLock { ($0.chain, $0.serverLoss) }
        let isOver = serverLoss != nil || chain?.capture?.isLostForGood ?? false
        dropChain()
        deviceState.withLock { $0.loss = error }
        let canWork = ![.invalidParameter, .unsupported].contains(error.code) && !isOver
        guard policy != .never, canWork else { return false }
        Self.log.log(.info, element, "the device isn't there: \(error)")
        return true
    }

    /// READY→PAUSED: chooses the format, since downstream is linked now, and starts the device. Returns false if the
    /// device fails and the node doesn't wait for it.
    func begin() -> Bool {
        deviceState.withLock { deviceState in
            (deviceState.node, deviceState.isUnwanted) = (.paused, false)
            (deviceState.isOver, deviceState.hasFailed, deviceState.ending) = (false, false, .none)
            (deviceState.isLostForGood, deviceState.lostAt, deviceState.nextTry) = (false, nil, 0)
        }
        do throws(MediaGraphError) {
            // A previous run has closed the device.
            if deviceState.withLock({ $0.chain == nil && $0.loss == nil }) { try openChain(isHeld: false) }
            if let chain = deviceState.withLock({ $0.chain }) {
                let formats = try ask(chain) { chain.queryFormats() }
                show(try chain.choose(of: formats, for: pad?.peerCaps(), isFixed: false, in: self))
                tellFormat(chain)
                try ask(chain) { () throws(MediaGraphError) in try chain.start() }
            }
        } catch {
            guard waitsForDevice(after: error) else {
                fail(error)
                return false
            }
        }
        if deviceState.withLock({ $0.chain }) == nil {
            deviceState.withLock { if $0.unanswered > 0 { $0.nextTry = timerClock.now + $0.pause } }
            showStandInIfAway()
            followStates()
        }
        // The keeper runs even if it has nothing to do yet, because stall-timeout may be set later. It holds the
        // element, and ends before the element leaves PAUSED.
        let thread = NativeThread("devicesource") { [element] in withExtendedLifetime(element) { self.keep() } }
        deviceState.withLock { $0.thread = thread }
        return true
    }

    // MARK: Between PAUSED and PLAYING

    /// Changes the state of the device's elements to the node's, or leaves that to the keeper if it owns them. Returns
    /// false if the device was lost, `reconnect` is `never`, and no other thread has reported that.
    func follow(_ state: State) -> Bool {
        let isMine = deviceState.withLock { deviceState in
            deviceState.node = state
            if state == .playing {
                deviceState.chain?.flow.resume()
                deviceState.isUnwanted = deviceState.ending != .none
                deviceState.allowEnding(from: timerClock.now)
            }
            guard !deviceState.isMoving else { return false }
            deviceState.isMoving = true
            return true
        }
        guard isMine else { return true }
        if state == .playing { showStandInIfAway() }
        followStates()
        guard state == .playing, policy == .never, let loss = deviceState.withLock({ $0.loss }) else { return true }
        // Fail the state change only with an error on the bus. If the streaming thread is about to post one, that error
        // ends the graph.
        return !failOnce(loss)
    }

    /// Shows a stand-in if there is no device: it isn't present yet, or it was abandoned while the graph was paused.
    private func showStandInIfAway() {
        let (isAway, loss, label) = deviceState.withLock { deviceState in
            (deviceState.chain == nil && deviceState.standIn == nil, deviceState.loss, deviceState.label)
        }
        guard isAway, policy != .never else { return }
        keepCaps()
        standIn(from: nil, at: element.currentRunningTime ?? .zero, loss ?? .noDevice(.init(label)))
    }

    /// Waits until no thread owns the device's elements, and abandons each call that the device doesn't answer in time.
    /// Call it before the bin changes its children's states: the bin would block on such a device.
    ///
    /// The wait ends, because only a call to the device can block the owner while the graph isn't playing. After a call
    /// was abandoned, the owner may need any time to notice that on a busy machine.
    func waitForOwner() {
        while true {
            guard let isLeft = takeLeftElements(within: Self.grace) else {
                deviceState.withLock { $0.abandon() }
                continue
            }
            guard isLeft else { return }
            dropChain()
            return deviceState.withLock { $0.isMoving = false }
        }
    }

    /// Waits until no thread owns the device's elements, and makes this thread their owner if the device was abandoned.
    /// Returns whether it was; `nil` if a thread still owns them after this time.
    private func takeLeftElements(within time: Duration) -> Bool? {
        let clock = timerClock
        return deviceState.wait(until: clock.time(after: time), on: clock) { deviceState in
            guard !deviceState.isMoving else { return nil }
            deviceState.isMoving = deviceState.isLeft
            return deviceState.isLeft
        }
    }

    /// Changes the state of the device's elements until they have the node's current state, and tells the producer to
    /// end the stream if it should. Then no thread owns the elements any more.
    func followStates() {
        while true {
            let (state, chain, standIn) = deviceState.withLock { ($0.node, $0.isLeft ? nil : $0.chain, $0.standIn) }
            if let chain, chain.element.state != state { go(chain, to: state) }
            if let standIn { standIn.element.setState(state) }
            let (isThere, ending) = deviceState.withLock { deviceState -> (Bool, DeviceState.Producer?) in
                guard deviceState.node == state else { return (false, nil) }
                // Ending the stream may wait for downstream, so only the keeper's thread does it, never one that
                // changes the node's state.
                let ending = deviceState.thread?.isCurrent == true ? deviceState.takeEnding() : nil
                if ending == nil { deviceState.isMoving = false }
                return (ending == nil, ending)
            }
            if let ending { tell(end: ending) }
            if isThere { return }
        }
    }

    // MARK: To READY and NULL

    /// PAUSED→READY: ends the keeper's thread and closes the device. Downstream no longer blocks the device's threads.
    func finish() {
        let thread = deviceState.withLock { deviceState in
            deviceState.isStopping = true
            deviceState.chain?.flow.cut()
            defer { deviceState.thread = nil }
            return deviceState.thread
        }
        thread?.join()
        deviceState.withLock { deviceState in
            (deviceState.isStopping, deviceState.node) = (false, .ready)
        }
        show(nil)
        dropStandIn()
        dropChain()
        deviceState.withLock { deviceState in
            (deviceState.caps, deviceState.exactCaps, deviceState.loss, deviceState.latency) = (nil, nil, nil, .zero)
        }
    }

    /// READY→NULL: closes the device.
    func close() {
        deviceState.withLock { $0.abandon() }
        waitForOpening()
        deviceState.withLock { deviceState in
            (deviceState.node, deviceState.camera, deviceState.firstSource, deviceState.label) = (.null, nil, nil, "")
            deviceState.screenListener = nil
        }
        dropChain()
    }
}
