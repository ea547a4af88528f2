import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphHandlers
import Synchronization

/// `virtualspeaker`: hands what is heard to a handler, mixed, user by user, and the sound of a share.
///
/// A bin: each stream that comes in is converted to one format and tapped on its way to `audiomixer`; the mix is tapped
/// where it leaves.
final class VirtualSpeakerElement: BinElement, ConfigurableElement, @unchecked Sendable {
    // `@unchecked Sendable`: constants, and state behind locks.

    static let defaultSettings = SpeakerSettings()
    let settings = SettingsStore(defaultSettings)

    struct State {
        /// From Swift: stays for the next run too.
        var attached: AudioConsumerHandle?
        /// From `handler=`: made anew for each run.
        var named: AudioConsumerHandle?
        var inputs: [String: (pad: GhostPad, input: SpeakerInput)] = [:]
        /// Names of pads that are being made.
        var reserved: Set<String> = []
        /// Where each shared stream ends.
        var sharedEnds: [ObjectIdentifier: SpeakerEnd] = [:]
        var source: GhostPad?
        var mixHasEnded = false

        var current: AudioConsumerHandle? { attached ?? named }
        var users: [SpeakerInput] { inputs.values.map(\.input).filter { !$0.isShared } }
        var shares: [SpeakerInput] { inputs.values.map(\.input).filter(\.isShared) }
        func has(_ pad: String) -> Bool { inputs[pad] != nil || reserved.contains(pad) }
    }

    let state = Mutex(State())
    let delivery: SpeakerDelivery
    let mix: SpeakerMix
    private let tap: SpeakerMixTap
    /// How many threads of its own are at work in the graph.
    let helpers = BlockingMonitor(0)
    private let lateSamples = Atomic<UInt64>(0)
    /// How many each of the mixer's pads has reported.
    private let reported = Mutex<[String: UInt64]>([:])

    static let log = DebugCategory("virtualspeaker", "MediaGraph virtual speaker")

    override class var declaration: ElementDeclaration {
        let caps = "audio/x-raw, rate=[ 1, 2147483647 ], channels=[ 1, 64 ]"
        return ElementDeclaration(
            factoryName: NodeName.virtualSpeaker, typeName: "GstVirtualSpeaker", longName: "Virtual speaker",
            classification: "Sink/Audio",
            summary: "Hands audio to a handler: all users mixed, each user alone, and the sound of a share",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("user_%s", .sink, .request, caps: caps),
                PadTemplate("shared", .sink, .request, caps: caps),
                PadTemplate(
                    "src", .source, .request,
                    caps: "audio/x-raw, format=S16LE, rate=[ 1, 2147483647 ], channels=[ 1, 64 ], layout=interleaved"),
            ],
            properties: [
                .setting(
                    "handler", of: Self.self, \.handler, changes: .untilInitialized, NodeDefinition.handlerBlurb),
                .setting(
                    "options", of: Self.self, \.options, changes: .untilInitialized, NodeDefinition.optionsBlurb),
                .setting(
                    "rate", of: Self.self, \.rate, range: .values(8000...192_000),
                    "Samples per second of what is delivered and of src, to which others are converted"),
                .setting(
                    "channels", of: Self.self, \.channels, range: .values(1...2),
                    "Channels of what is delivered and of src: 1 mono, 2 stereo"),
                .setting(
                    "memory-mode", of: Self.self, \.memoryMode, changes: .untilInitialized,
                    "Whether the handler borrows its blocks or owns them"),
                .setting(
                    "backpressure", of: Self.self, \.backPressure, "What happens when the handler is too slow"),
                .setting(
                    "max-frames", of: Self.self, \.maxFrames, range: .values(1...100_000),
                    "Blocks that may wait for the handler, of all streams together"),
                .setting(
                    "latency", of: Self.self, \.latency, range: .values(0...10_000_000_000),
                    changes: .untilInitialized,
                    "Extra nanoseconds that a live mix waits for streams that exceed their reported latency; later samples are left out of the mix"
                ),
                .setting(
                    "min-upstream-latency", of: Self.self, \.minUpstreamLatency, range: .values(0...10_000_000_000),
                    changes: .untilInitialized,
                    "Upstream latency, in nanoseconds, that a live mix allows for from the start; a user with more delays the mix once by the difference"
                ),
                .readOnly(
                    "stats", of: Self.self, default: NodeStatistics.nothing,
                    """
                    What the node has counted since it left READY: frames (uint64, blocks delivered), dropped (uint64, \
                    blocks), late-samples (uint64, what came too late for a live mix, of each channel), handler-time \
                    (uint64, nanoseconds in all), lateness (int64, nanoseconds of the last block)
                    """
                ) { $0.statistics },
            ],
            messages: [SpeakerStatus.messageDeclaration, LevelSpeaker.messageDeclaration],
            abiVersion: NodeDefinition.abiVersion)
    }

    private static let vtable = NodeVTable.make { vtable in
        vtable.set_audio_processor = { element, processor, error in
            NodeVTable.answer(element, error, as: VirtualSpeakerElement.self) { node in
                _ = node.tap.editor.attach(processor.map { AudioProcessorHandle($0.pointee) })
            }
        }
        vtable.set_audio_consumer = { element, consumer, error in
            NodeVTable.answer(element, error, as: VirtualSpeakerElement.self) { (node) throws(MediaGraphError) in
                try node.attach(consumer?.pointee)
            }
        }
    }

    required init(instance: ElementInstance) {
        let delivery = SpeakerDelivery(instance)
        self.delivery = delivery
        mix = SpeakerMix(in: instance)
        tap = SpeakerMixTap(delivery) { [instance] in
            ElementClass.implementation(of: instance.element, as: Self.self).mixEnded()
        }
        super.init(instance: instance)
        mix.tapPad.setTap(tap)
        NodeVTable.install(Self.vtable.pointer, on: instance)
    }

    // MARK: Changes of state

    override func changeState(_ change: StateChange) -> StateChangeResult {
        switch change {
        case .nullToReady:
            do throws(MediaGraphError) { try makeHandler() } catch {
                postError(.settings, "\(name): \(error)")
                return .failure
            }
        case .readyToPaused: start()
        case .pausedToReady: delivery.interrupt()
        default: break
        }
        let result = super.changeState(change)
        switch change {
        case .pausedToReady: stop()
        case .readyToPaused where result == .failure: stop()
        case .readyToNull:
            let named = state.withLock { state in
                defer { state.named = nil }
                return state.named
            }
            withExtendedLifetime(named) {}
        default: break
        }
        return result
    }

    private func start() {
        let settings = settings.current
        let info = AudioInfo(.s16, rate: Int(settings.rate), channels: Int(settings.channels))!
        let (consumer, inputs, hasSource) = state.withLock { state in
            state.mixHasEnded = false
            return (state.current, Array(state.inputs.values), state.source != nil)
        }
        lateSamples.store(0, ordering: .relaxed)
        reported.withLock { $0 = [:] }
        mix.start(info, settings)
        tap.start()
        delivery.start(settings, consumer, .init(info: info, caps: info.caps))
        // Who is linked is waited for; who isn't may come later. A graph that isn't live mixes from its very beginning.
        connect(inputs, consumer, hasSource: hasSource)
        Self.log.log(
            .info, raw: instance.element,
            "handler \(consumer?.name ?? "none"), \(info.rate) Hz, \(info.channels) channels, \(inputs.count) pads")
    }

    private func stop() {
        // Nobody waits in the graph any more, which has stopped.
        _ = helpers.wait { $0 == 0 ? () : nil }
        for (pad, input) in state.withLock({ Array($0.inputs.values) }) {
            input.disconnect(pad, in: self, isReleased: false) { disconnect(input, $0, isShared: input.isShared) }
        }
        delivery.stop()
        mix.stop()
    }

    // MARK: Pads

    override func requestPad(_ template: String, name: String?) -> GhostPad? {
        template == "src" ? requestSource() : requestInput(template, name: name)
    }

    private func requestSource() -> GhostPad? {
        guard !isRunning else {
            postWarning(.settings, "\(name): src is refused: link it before the graph runs")
            return nil
        }
        guard state.withLock({ $0.source == nil }) else { return nil }
        let pad = mix.requestSource(in: self)
        state.withLock { $0.source = pad }
        return pad
    }

    private func requestInput(_ template: String, name: String?) -> GhostPad? {
        let isShared = template == "shared"
        let padName = state.withLock { state -> String? in
            let name =
                isShared
                ? "shared" : name ?? (0...).lazy.map { "user_\($0)" }.first { !state.has($0) }!
            guard !state.has(name) else { return nil }
            state.reserved.insert(name)
            return name
        }
        guard let padName else {
            postWarning(.settings, "\(self.name): \(name ?? template) is linked already")
            return nil
        }
        let input = SpeakerInput(padName: padName, isShared: isShared, delivery) { [instance] in
            ElementClass.implementation(of: instance.element, as: Self.self).inputChanged(padName)
        } flushBegins: { [instance] in
            ElementClass.implementation(of: instance.element, as: Self.self).inputFlushed()
        }
        return addSinkPad(padName, template: template) { pad in
            state.withLock { state in
                state.reserved.remove(padName)
                state.inputs[padName] = (pad, input)
            }
            pad.onQuery { [instance] query in
                switch query {
                case .caps: .caps(ElementClass.implementation(of: instance.element, as: Self.self).acceptedCaps)
                // audiomixer proposes nothing, and says so only when its thread comes by: behind a sink that waits for its
                // time the user's second block would come too late.
                case .allocation: .proposesNothing
                case .latency: .forward
                }
            }
            pad.onLinked { [instance] in
                ElementClass.implementation(of: instance.element, as: Self.self).linked(input, pad)
            }
            pad.onEvent { [instance] event in
                let speaker = ElementClass.implementation(of: instance.element, as: Self.self)
                switch event {
                case .streamStart(let id): speaker.turn(input, pad, id)
                case .caps(let caps): return speaker.prepare(input, pad, caps)
                case .endOfStream: speaker.prepareForEnd(input, pad)
                case .flushStart, .flushStop: break
                }
                return true
            }
        }
    }

    override func releasePad(_ pad: GhostPad) {
        let found = state.withLock { state -> (isSource: Bool, input: SpeakerInput?) in
            if state.source == pad {
                state.source = nil
                return (true, nil)
            }
            guard let key = state.inputs.first(where: { $0.value.pad == pad })?.key else { return (false, nil) }
            return (false, state.inputs.removeValue(forKey: key)?.input)
        }
        if found.isSource { return mix.releaseSource(pad, in: self) }
        guard let input = found.input else { return }
        if isRunning, delivery.liveness == true, !input.isShared { mix.keepGoing() }
        // The last one's end would be that of a mix that isn't live; somebody may come yet.
        let othersGoOn = delivery.liveness == true || state.withLock { $0.users.contains { !$0.hasEnded } }
        let isMissed = isRunning && othersGoOn && !input.isShared
        // What a resampler holds is given on a thread of its own; a seek meanwhile, as of files, would find nobody there.
        if isMissed, delivery.liveness == true, let remains = input.takeRemains(pad) {
            removeWhileRunning(pad)
            finish(remains)
        } else {
            input.disconnect(pad, in: self, isReleased: true) { outlet in
                if isMissed { mix.drain(outlet) } else { disconnect(input, outlet, isShared: input.isShared) }
            }
        }
        Self.log.log(.info, raw: instance.element, "a user's pad is released")
        if isRunning { endIfAllHave() }
    }

    /// What needs no conversion comes first, so that upstream gives that where it can.
    private var acceptedCaps: Caps {
        let settings = settings.current
        let own = AudioInfo(.s16, rate: Int(settings.rate), channels: Int(settings.channels))!.caps
        return own.appending(Self.convertibleCaps)
    }

    private static let convertibleCaps = Caps("audio/x-raw, rate=[ 1, 2147483647 ], channels=[ 1, 64 ]")!.constant

    /// A format is known: what converts it is built before it goes on. On the streaming thread.
    private func prepare(_ input: SpeakerInput, _ pad: GhostPad, _ caps: Caps) -> Bool {
        guard let format = delivery.format else { return false }
        findOutLiveness()
        // It came while the others were playing: until now nobody waited for it.
        connect(input)
        // A user's sound is the session's trouble, which warns of it: the others are heard.
        if input.isOfSession, caps.unpositionedChannels != nil { return false }
        if let channels = caps.unpositionedChannels {
            postError(
                .notNegotiated,
                "\(name): can't mix \(channels) channels without positions; set a channel-mask upstream",
                debug: "upstream gives \(caps)")
            return false
        }
        guard input.prepare(caps, for: format, pad, in: self) else {
            // The buffers behind it find the pad unlinked, which a tee upstream may be told to allow.
            guard !isReleased(input) else { return true }
            guard input.isConnected, !input.isOfSession else { return false }
            postError(
                .notNegotiated, "\(name): the input isn't raw audio",
                debug: "upstream gives \(caps); expected raw audio"
            )
            return false
        }
        return true
    }

    private func isReleased(_ input: SpeakerInput) -> Bool {
        state.withLock { state in !state.inputs.values.contains { $0.input === input } }
    }

    /// A stream may end before it has a format, as an empty file's does: that is an end like any other.
    private func prepareForEnd(_ input: SpeakerInput, _ pad: GhostPad) {
        guard delivery.format != nil else { return }
        connect(input)
        input.lead(pad)
    }

    // MARK: What the streams tell, on their threads

    /// Live, when one of the streams is. Asked when a stream has a format, and with the first buffer once more.
    private func findOutLiveness(orAssume assumed: Bool? = nil) {
        guard delivery.liveness == nil else { return }
        let pads = state.withLock { $0.inputs.values.map(\.pad.pad) }
        let answers = pads.filter(\.isLinked).compactMap { $0.upstreamLatency()?.isLive }
        guard let isLive = answers.contains(true) ? true : answers.isEmpty ? assumed : false else { return }
        if isLive { mix.becomeLive() }
        delivery.open(isLive: isLive)
    }

    /// A seek, as of files; what is live doesn't seek, and one user's flush takes nobody else's last words.
    private func inputFlushed() { if delivery.liveness != true { mix.releaseDraining() } }

    private func inputChanged(_ padName: String) {
        findOutLiveness(orAssume: false)
        guard let input = state.withLock({ $0.inputs[padName]?.input }), input.hasEnded else { return }
        if delivery.liveness == true, !input.isShared { mix.keepGoing() }
        endIfAllHave()
    }

    /// The mix ends when all users have ended, the graph when the share has too.
    private func endIfAllHave() {
        let (users, shares, mixHasEnded) = state.withLock { ($0.users, $0.shares, $0.mixHasEnded) }
        if users.isEmpty {
            if !shares.isEmpty, shares.allSatisfy(\.hasEnded), !mixHasEnded { endUnheard() }
        } else if users.allSatisfy(\.hasEnded) {
            mix.letEnd()
        }
        if mixHasEnded { endDelivery() }
    }

    private func mixEnded() {
        state.withLock { $0.mixHasEnded = true }
        findOutLiveness(orAssume: false)
        endDelivery()
    }

    private func endDelivery() {
        guard state.withLock({ $0.shares.allSatisfy(\.hasEnded) }) else { return }
        delivery.receive(.end)
        delivery.waitForEnd()
    }

    // MARK: Counting

    private var statistics: Structure {
        Structure(
            NodeStatistics.name,
            delivery.statistics.fields + [("late-samples", lateSamples.load(ordering: .relaxed))])
    }

    override class var watchesMessages: Bool { true }

    /// The mixer's pads say what they lost because it came too late.
    override func childPosted(_ message: Message) -> Bool {
        guard case .qualityOfService(_, _, let dropped) = message.kind, dropped != .max else { return true }
        let news = reported.withLock { reported in
            defer { reported[message.sourcePath] = dropped }
            return dropped &- min(dropped, reported[message.sourcePath] ?? 0)
        }
        lateSamples.wrappingAdd(news, ordering: .relaxed)
        return true
    }
}

extension VirtualSpeakerElement: NodeTraits {
    static var lackOfInput: String? { "there is nothing to hear" }
    static var userPads: [UserPad] { [UserPad(prefix: "user_", requiresEscaping: false)] }
}
