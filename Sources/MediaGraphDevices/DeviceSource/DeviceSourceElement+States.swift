import GStreamer
import MediaGraphCore

/// What the states of the node do to its device.
///
/// One thread at a time has the device's elements in its hands (`isMoving`): the one that changes the node's state, or the
/// keeper's own, which waits for the device's failure or return. A state that is asked for meanwhile is the keeper's to reach.
extension DeviceSourceElement {
    /// Microseconds that a stop leaves to a change that goes on.
    private static let grace: Int64 = 500_000

    // MARK: From NULL to PAUSED

    /// NULL→READY: opens the device. False where it can't be, and isn't waited for. A graph that can go on without it opens all
    /// of its devices at the same time.
    func open() -> Bool {
        position.withLock { ($0.node, $0.refusal, $0.isUnwanted) = (.ready, nil, false) }
        guard policy != .never else {
            openFirst()
            return finishOpening()
        }
        position.withLock { position in
            position.openingEnd = monotonicNanoseconds() + DeviceSettings.startPatience * 1_000_000
            // It ends before the element leaves READY.
            position.opening = NativeThread("devicesource") { [element] in
                withExtendedLifetime(element) { self.openFirst() }
            }
        }
        return true
    }

    private func openFirst() {
        do throws(MediaGraphError) { try openChain(isHeld: false) } catch {
            let isWaitedFor = missing(error)
            position.withLock { $0.refusal = isWaitedFor ? nil : error }
        }
    }

    /// False where the device can't be opened, and isn't waited for; it is on the bus then.
    func finishOpening() -> Bool {
        waitForOpening()
        guard let refusal = position.withLock({ $0.refusal }) else { return true }
        fail(refusal)
        return false
    }

    /// Before anything else happens to the node.
    private func waitForOpening() {
        let opening = position.withLock { position in
            defer { position.opening = nil }
            return position.opening
        }
        opening?.join()
        position.withLock { $0.openingEnd = nil }
    }

    /// False for what isn't waited for: what can't ever work is an error, whatever the policy.
    private func missing(_ error: MediaGraphError) -> Bool {
        let isOver = position.withLock { $0.chain }?.capture?.isOverForGood ?? false
        dropChain()
        position.withLock { $0.loss = error }
        let canWork = ![.invalidParameter, .unsupported].contains(error.code) && !isOver
        guard policy != .never, canWork else { return false }
        Self.log.log(.info, element, "the device isn't there: \(error)")
        return true
    }

    /// READY→PAUSED: what is downstream is known now, and with it the format.
    func begin() -> Bool {
        position.withLock { position in
            (position.node, position.isUnwanted) = (.paused, false)
            (position.isOver, position.hasFailed, position.ending) = (false, false, .none)
            (position.isLostForGood, position.lostAt, position.nextTry) = (false, nil, 0)
        }
        do throws(MediaGraphError) {
            // A run before this one closed it.
            if position.withLock({ $0.chain == nil && $0.loss == nil }) { try openChain(isHeld: false) }
            if let chain = position.withLock({ $0.chain }) {
                let formats = try ask(chain) { chain.askFormats() }
                show(try chain.choose(of: formats, for: pad?.peerCaps(), isFixed: false, in: self))
                tellFormat(chain)
                try ask(chain) { () throws(MediaGraphError) in try chain.start() }
            }
        } catch {
            guard missing(error) else {
                fail(error)
                return false
            }
        }
        if position.withLock({ $0.chain }) == nil {
            position.withLock { if $0.unanswered > 0 { $0.nextTry = monotonicNanoseconds() + $0.pause } }
            standInForNobody()
            followStates()
        }
        // Also where it has nothing to do yet: stall-timeout may be set later. It holds the element, and ends before that
        // leaves PAUSED.
        let thread = NativeThread("devicesource") { [element] in withExtendedLifetime(element) { self.keep() } }
        position.withLock { $0.thread = thread }
        return true
    }

    // MARK: Between PAUSED and PLAYING

    /// Brings all to the node's state; what the keeper has in its hands it brings there itself.
    func follow(_ state: State) -> Bool {
        let isMine = position.withLock { position in
            position.node = state
            if state == .playing {
                position.chain?.flow.resume()
                position.isUnwanted = position.ending != .none
                position.allowEnding()
            }
            guard !position.isMoving else { return false }
            position.isMoving = true
            return true
        }
        guard isMine else { return true }
        if state == .playing { standInForNobody() }
        followStates()
        guard state == .playing, policy == .never, let loss = position.withLock({ $0.loss }) else { return true }
        // Fail the state change only with an error on the bus. If the streaming thread is about to post one, that error ends
        // the graph.
        return !failOnce(loss)
    }

    /// Where there is no device: it isn't there yet, or it was left behind in a pause.
    private func standInForNobody() {
        let (isAway, loss, label) = position.withLock { position in
            (position.chain == nil && position.standIn == nil, position.loss, position.label)
        }
        guard isAway, policy != .never else { return }
        keepCaps()
        standIn(from: nil, at: element.currentRunningTime ?? .zero, loss ?? .noDevice(.init(label)))
    }

    /// Before the bin changes its children's states: that would wait for a device whose state is just being changed, or that
    /// doesn't answer.
    func letChangeEnd() {
        let isDone = position.wait(timeout: Self.grace) { $0.isMoving ? nil : true }
        if isDone == nil {
            position.withLock { $0.abandon() }
            _ = position.wait(timeout: Self.grace) { $0.isMoving ? nil : true }
        }
        if position.withLock({ $0.isLeft && !$0.isMoving }) { dropChain() }
    }

    /// Until nobody has asked for another meanwhile, or for the stream's end; the elements are in nobody's hands then.
    func followStates() {
        while true {
            let (state, chain, standIn) = position.withLock { ($0.node, $0.isLeft ? nil : $0.chain, $0.standIn) }
            if let chain, chain.element.state != state { go(chain, to: state) }
            if let standIn { standIn.element.setState(state) }
            let (isThere, ending) = position.withLock { position -> (Bool, DevicePosition.Giver?) in
                guard position.node == state else { return (false, nil) }
                // Whoever ends the stream may wait for who holds it up: not with the node's state in his hands.
                let ending = position.thread?.isCurrent == true ? position.takeEnding() : nil
                if ending == nil { position.isMoving = false }
                return (ending == nil, ending)
            }
            if let ending { tell(end: ending) }
            if isThere { return }
        }
    }

    // MARK: To READY and NULL

    /// PAUSED→READY: what is downstream has let go of its threads.
    func finish() {
        let thread = position.withLock { position in
            position.isStopping = true
            position.chain?.flow.cut()
            defer { position.thread = nil }
            return position.thread
        }
        thread?.join()
        position.withLock { position in
            (position.isStopping, position.node) = (false, .ready)
        }
        show(nil)
        dropStandIn()
        dropChain()
        position.withLock { position in
            (position.caps, position.exactCaps, position.loss, position.latency) = (nil, nil, nil, .zero)
        }
    }

    func close() {
        position.withLock { $0.abandon() }
        waitForOpening()
        position.withLock { position in
            (position.node, position.camera, position.firstSource, position.label) = (.null, nil, nil, "")
        }
        dropChain()
    }
}
