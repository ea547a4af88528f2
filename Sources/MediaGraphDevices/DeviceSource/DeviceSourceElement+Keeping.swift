import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphElements

/// How the device's elements are made, given up, and tried again, and who stands in for them meanwhile: of whoever has them in
/// his hands, as DeviceSourceElement+States tells.
extension DeviceSourceElement {
    var policy: ReconnectPolicy { settings.current.reconnect }

    // MARK: The device's elements

    func openChain(isHeld: Bool) throws(MediaGraphError) {
        let chain: DeviceChain
        do throws(MediaGraphError) { chain = try makeChain(isHeld: isHeld) } catch {
            position.withLock { $0.loss = error }
            throw error
        }
        chain.add(to: self)
        position.withLock { position in
            (position.chain, position.isLeft) = (chain, false)
            (position.loss, position.hasArrived, position.isTrying, position.label) = (nil, false, true, chain.label)
        }
        let camera = try ask(chain) { () throws(MediaGraphError) in
            try chain.open()
            return chain.camera
        }
        position.withLock { position in
            position.camera = camera ?? position.camera
            if !isHeld { position.isTrying = false }
        }
    }

    private func makeChain(isHeld: Bool) throws(MediaGraphError) -> DeviceChain {
        let settings = settings.current
        let (camera, others) = position.withLock { ($0.camera, $0.otherCameras) }
        let isOff = isHeld && settings.reconnect == .gap
        // Neither holds the element: it holds them.
        let node = Node(instance)
        let flow = DeviceFlow(isHeld: isHeld, tellsStatus: isOff, statistics) { event in
            node.tell { $0.flowed(event) }
        }
        let patience = patience
        // Who has others' devices to tell may hang, and those be found all the same.
        let listPatience = patience - min(patience / 2, 1000)
        let label = settings.source.isEmpty ? "the default \(settings.kind.nick)" : settings.source
        // What it says of itself is better, when it is there.
        position.withLock { if $0.label.isEmpty { $0.label = label } }
        let chain = try ask(label, within: patience, isOpening: true) { () throws(MediaGraphError) in
            let text =
                settings.source.isEmpty ? try DefaultDevice.text(settings.kind, within: listPatience) : settings.source
            let factories = Description(text).resolved().factories
            ScreenLosses.keepProcess(by: factories)
            let chain = try DeviceChain(text, of: factories, isOutlived: settings.reconnect != .never, flow)
            if let camera { try chain.take(camera, besides: others) }
            return chain
        }
        // The keeper makes of it what is to be made. It may be told when the node has gone.
        chain.watchScreen { [position] capture, error in
            let isNews = position.withLock { position in
                guard position.chain?.capture === capture, position.loss == nil else { return false }
                position.loss = error
                return true
            }
            // It isn't to ask a server that isn't there.
            if isNews { flow.cut() }
        }
        if chain.isFromSoundServer {
            chain.device.watchProperty("current-device") { node.tell { $0.deviceMoved() } }
        }
        return chain
    }

    func dropChain(within milliseconds: UInt64 = DeviceSettings.closingPatience) {
        let (chain, wasLeft) = position.withLock { ($0.chain, $0.isLeft) }
        if let chain {
            chain.flow.cut()
            // The node's own until then: what it says while it is taken down is known for its.
            if !wasLeft { try? ask(chain.label, within: milliseconds) { chain.close() } }
            chain.remove(from: self, stops: !position.withLock { $0.isLeft })
        }
        position.withLock { position in
            (position.chain, position.isTrying, position.hasArrived, position.isLeft) = (nil, false, false, false)
        }
    }

    func dropStandIn() {
        let standIn = position.withLock { position in
            defer { position.standIn = nil }
            return position.standIn
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
            case .leave(let loss): leave(loss)
            case .checkStall: checkStall(stallTimeout)
            case .attempt: attempt()
            case .giveUp(let loss): giveUp(loss)
            case .comeBack: comeBack()
            case .checkEnding: checkEnding()
            case .end: break
            }
            followStates()
        }
    }

    /// Waits until there is something to do.
    private func nextJob(_ stallTimeout: UInt64) -> DevicePosition.Job {
        let wait = position.withLock(wakes: false) {
            $0.next(at: monotonicNanoseconds(), stallTimeout: stallTimeout).wait
        }
        var isFirst = true
        let job = position.wait(timeout: wait) { position -> DevicePosition.Job? in
            let next = position.next(at: monotonicNanoseconds(), stallTimeout: stallTimeout)
            switch next.job {
            case .stop: break
            case .some: position.isMoving = true
            case nil:
                // By now it is to end at some time, or somebody has changed something.
                let isNews = !isFirst || (wait == nil && next.wait != nil)
                isFirst = false
                return isNews ? .look : nil
            }
            return next.job
        }
        return job ?? .look
    }

    /// The device has gone.
    private func leave(_ loss: MediaGraphError) {
        // As GStreamer's own sources do, it ends its stream behind the error: so files are finished.
        if policy == .never { failOnce(loss) }
        let isForGood = position.withLock { $0.chain }?.capture?.isOverForGood ?? false
        let loss = isForGood && policy != .never ? Self.forGood(loss.detail) : loss
        let camera = position.withLock { $0.camera }
        let others = camera.map { CameraIdentity.all().subtracting([$0]) } ?? []
        let chain = position.withLock { position in
            position.lose(loss)
            (position.otherCameras, position.isLostForGood) = (others, isForGood)
            return position.chain
        }
        keepCaps()
        chain?.flow.cut()
        let silence = chain?.flow.silence ?? 0
        let now = element.currentRunningTime?.nanoseconds ?? 0
        dropChain(within: DeviceSettings.leavingPatience)
        // By when its threads have ended; of a device that doesn't stamp, by when something came.
        let lostAt = chain?.flow.end
        let time = lostAt ?? ClockTime(nanoseconds: now - min(now, silence))
        position.withLock { position in
            position.nextTry = monotonicNanoseconds() + position.pause
        }
        standIn(from: lostAt, at: time, loss)
    }

    /// What a stand-in is to go on with.
    func keepCaps() {
        guard let caps = pad?.currentCaps else { return }
        position.withLock { ($0.caps, $0.exactCaps) = (caps.continuable, caps) }
    }

    private static func forGood(_ detail: MediaGraphError.Detail) -> MediaGraphError {
        let actual =
            "\(detail.actual). X reuses window numbers, so the graph doesn't wait for this one; to wait for a window, set xname instead of xid"
        return .deviceGone(.init(detail.subject, expected: detail.expected, actual: actual))
    }

    /// Something else goes to downstream from now on.
    func standIn(from begin: ClockTime?, at time: ClockTime = .zero, _ loss: MediaGraphError) {
        let (label, latency, known, exact) = position.withLock { ($0.label, $0.latency, $0.caps, $0.exactCaps) }
        let downstream = pad?.peerCaps()
        // A picture, or silence, needs a format before the device can tell its own.
        let caps =
            known ?? (policy == .slate ? guessedType(downstream).flatMap { Caps.beginning($0, downstream) } : nil)
        let given = exact ?? caps
        let content = given.map { filling($0, label) } ?? .gaps
        guard let standIn = DeviceStandIn.make(content, caps: given, from: begin, latency: latency) else { return }
        add(standIn.element)
        show(standIn.standIn.sourcePad)
        let isNews = position.withLock { position in
            position.standIn = standIn
            position.caps = caps
            // One that was back, and gave nothing, is still away.
            guard position.lostAt == nil else { return false }
            position.lostAt = time
            position.told(loss.code)
            return true
        }
        Self.log.log(.info, element, "away: \(loss)")
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

    /// What a device gives that hasn't been there yet.
    func guessedType(_ downstream: Caps?) -> MediaType? {
        let settings = settings.current
        guard !settings.source.isEmpty else { return settings.kind == .microphone ? .audio : .video }
        // By its factories: the elements themselves may connect to a server that hangs.
        let factories = Description(settings.source).resolved().outline.elements.map(\.factory)
        return factories.reversed().lazy.compactMap(MediaType.init(givenBy:)).first
            ?? downstream.flatMap(MediaType.init)
    }

    /// Is it back? Its first buffer will tell.
    private func attempt() {
        do throws(MediaGraphError) {
            try openChain(isHeld: true)
            guard let chain = position.withLock({ $0.chain }) else { return }
            let caps = position.withLock { $0.caps }
            let formats = try ask(chain) { chain.askFormats() }
            let output = try chain.choose(of: formats, for: caps ?? pad?.peerCaps(), isFixed: caps != nil, in: self)
            position.withLock { $0.output = output }
            try ask(chain) { () throws(MediaGraphError) in try chain.start() }
            let patience = max(settings.current.stallTimeout, DeviceSettings.leastPatience) * 1_000_000
            position.withLock { $0.trialEnd = monotonicNanoseconds() + patience }
        } catch { giveUp(error) }
    }

    private func giveUp(_ loss: MediaGraphError?) {
        Self.log.log(.debug, element, "still away: \(loss.map { "\($0)" } ?? "it can be opened, but says nothing")")
        let isNews = position.withLock { position in
            position.loss = loss ?? .deviceGone(.init(position.label, actual: "it says nothing"))
            return position.takeNews(of: loss?.code)
        }
        dropChain()
        if let loss, isNews { postWarning(Self.problem(of: loss), "\(loss); retrying") }
        position.withLock { $0.nextTry = monotonicNanoseconds() + $0.pause }
    }

    private func comeBack() {
        let (chain, output, standIn) = position.withLock { ($0.chain, $0.output, $0.standIn) }
        guard let chain else { return }
        dropStandIn()
        show(output)
        chain.flow.open(from: standIn?.standIn.end ?? .zero)
        position.withLock { position in (position.isTrying, position.output) = (false, nil) }
        chain.flow.touch()
        tellFormat(chain)
        element.postLatencyChanged()
    }

    /// Who was told to end the stream hasn't.
    private func checkEnding() {
        guard let chain = position.withLock({ $0.isOver ? nil : $0.chain }) else { return }
        let isSilent = chain.flow.silence >= DeviceSettings.endingPatience * 1_000_000
        guard isSilent, pad?.peer?.isTaking != true else { return position.withLock { $0.allowEnding() } }
        let actual =
            chain.flow.hasBegun
            ? "didn't end its stream; it may be hanging" : "didn't end its stream, and has sent no data"
        leave(.deviceGone(.init(chain.label, actual: actual)))
    }

    private func checkStall(_ milliseconds: UInt64) {
        guard let chain = position.withLock({ $0.chain }) else { return }
        // Whoever waits for downstream hasn't gone.
        guard pad?.peer?.isTaking != true else { return chain.flow.touch() }
        let least = chain.leastPatience(milliseconds)
        let problem =
            if !chain.flow.hasBegun {
                "sent no data"
            } else if least > milliseconds {
                "sent no data within \(least) ms after its sound server woke up"
            } else {
                "sent no data for \(milliseconds) ms (stall-timeout)"
            }
        leave(.deviceGone(.init(chain.label, actual: problem)))
    }
}

/// The node, for what the device's elements call: where they were left behind they may outlive it.
private struct Node: Sendable {
    private let weak: WeakElement

    init(_ instance: ElementInstance) { weak = WeakElement(instance) }

    func tell(_ body: (DeviceSourceElement) -> Void) {
        guard let element = weak.element else { return }
        body(ElementClass.implementation(of: element.element, as: DeviceSourceElement.self))
    }
}
