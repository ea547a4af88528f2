import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphHandlers
import Synchronization

/// `virtualspeaker`: delivers sound to a handler: the mix of all users, each user alone, and the sound of a share.
///
/// The element is a bin. Each input is converted to one format, and a tap delivers it on its way to `audiomixer`.
/// Another tap delivers the mix.
final class VirtualSpeakerElement: BinElement, ConfigurableElement, @unchecked Sendable {
    // `@unchecked Sendable`: constants, and state behind locks.

    static let defaultSettings = SpeakerSettings()
    let settings = SettingsStore(defaultSettings)

    struct State {
        /// The handler attached from Swift. Kept across runs.
        var attached: AudioConsumerHandle?
        /// The handler that `handler=` names. Made for each run.
        var named: AudioConsumerHandle?
        /// The inputs by their pads' names.
        var inputs: [String: (pad: GhostPad, input: SpeakerInput)] = [:]
        /// Names of pads that are being made.
        var reserved: Set<String> = []
        /// The sinks of shared streams.
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
    /// How many helper threads are running.
    let helpers = BlockingMonitor(0)
    private let lateSamples = Atomic<UInt64>(0)
    /// The number of late samples that each pad of the mixer has reported.
    private let reported = Mutex<[String: UInt64]>([:])

    static let log = DebugCategory("virtualspeaker", "MediaGraph virtual speaker")

    override class var declaration: ElementDeclaration {
        let caps = "audio/x-raw, rate=[ 1, 2147483647 ], channels=[ 1, 64 ]"
        return ElementDeclaration(
            factoryName: NodeName.virtualSpeaker, typeName: "GstVirtualSpeaker", longName: "Virtual speaker",
            classification: "Sink/Audio",
            summary: "Delivers audio to a handler: all users mixed, each user alone, and the sound of a share",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("user_%s", .sink, .request, caps: caps),
                PadTemplate("shared", .sink, .request, caps: caps),
                PadTemplate(
                    "src", .source, .request,
                    caps: "audio/x-raw, format=S16LE, rate=[ 1, 2147483647 ], channels=[ 1, 64 ], layout=interleaved"),
            ],
            properties: lockedHandlerProperties + [
                .setting(
                    "rate", of: Self.self, \.rate, range: .values(SpeakerFormat.sampleRates),
                    "Sample rate of the delivered streams and of src; inputs with other rates are converted"),
                .setting(
                    "channels", of: Self.self, \.channels, range: .values(SpeakerFormat.channelCounts),
                    "Number of channels of the delivered streams and of src: 1 mono, 2 stereo"),
                .setting(
                    "memory-mode", of: Self.self, \.memoryMode.value, changes: .untilInitialized,
                    "Whether the blocks that the handler retains may be copied"),
                .setting(
                    "backpressure", of: Self.self, \.backPressure, "What happens when the handler is too slow"),
                .setting(
                    "max-frames", of: Self.self, \.maxFrames, range: .values(1...100_000),
                    "Maximum number of blocks that wait for the handler, of all streams together"),
                .setting(
                    "on-error", of: Self.self, \.onError, changes: .always,
                    "What happens to a block whose handler or editor throws"),
                .setting(
                    "latency", of: Self.self, \.latency, range: .values(0...10_000_000_000),
                    changes: .untilInitialized,
                    "Extra nanoseconds that a live mix waits for streams that exceed their reported latency; later samples aren't mixed"
                ),
                .setting(
                    "min-upstream-latency", of: Self.self, \.minUpstreamLatency, range: .values(0...10_000_000_000),
                    changes: .untilInitialized,
                    "Upstream latency, in nanoseconds, that a live mix allows for from the start; a user with more delays the mix once by the difference"
                ),
                .readOnly(
                    "stats", of: Self.self, default: NodeStatistics.nothing,
                    """
                    The node's counters since it left READY: frames (uint64, delivered blocks), dropped (uint64, \
                    blocks), failed (uint64, blocks whose handler or editor failed while the graph went on), late-samples (uint64, samples of each channel that came too late for a live mix), handler-time \
                    (uint64, total nanoseconds), lateness (int64, nanoseconds, of the last block)
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
        vtable.set_audio_consumer = { NodeVTable.setHandler($0, $1, $2, VirtualSpeakerElement.attach) }
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

    // MARK: State changes

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
        // Released outside the lock: a handler's `deinit` may call anything.
        case .readyToNull: _ = state.withLock { $0.named.take() }
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
        // Connect the linked inputs now, so that the mix waits for them: a mix that isn't live starts at time zero.
        // Other inputs may be linked later.
        connect(inputs, consumer, hasSource: hasSource)
        Self.log.log(
            .info, raw: instance.element,
            "handler \(consumer?.name ?? "none"), \(info.rate) Hz, \(info.channels) channels, \(inputs.count) pads")
    }

    private func stop() {
        // Data flow has stopped, so the helper threads no longer wait in the graph and end soon.
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
            postWarning(.settings, "\(name): src can't be added while the graph runs; link it before the graph starts")
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
            postWarning(.settings, "\(self.name): \(name ?? template) is already linked")
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
                // audiomixer proposes nothing, but its thread must run to answer. If that thread waits in a sink, the
                // user's second block would come too late.
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
                case .streamStart(let id): speaker.reroute(input, pad, id)
                case .caps(let caps): return speaker.prepare(input, pad, caps)
                case .endOfStream: speaker.prepareForEnd(input, pad)
                case .custom(let structure) where structure.name == StreamStatus.eventName:
                    if structure["on"] == false { input.drain() }
                case .flushStart, .flushStop, .custom: break
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
        // Drain the input only if other users remain. Otherwise, in a mix that isn't live, its end would end the mix,
        // although another user may still join.
        let othersRemain = delivery.liveness == true || state.withLock { $0.users.contains { !$0.hasEnded } }
        let isDrained = isRunning && othersRemain && !input.isShared
        // Drain the resampler on a helper thread, in a live mix only: a seek, which only streams like files have,
        // wouldn't reach the removed chain.
        if isDrained, delivery.liveness == true, let remains = input.detachChain(pad) {
            removeWhileRunning(pad)
            finish(remains)
        } else {
            input.disconnect(pad, in: self, isReleased: true) { outlet in
                if isDrained { mix.drain(outlet) } else { disconnect(input, outlet, isShared: input.isShared) }
            }
        }
        Self.log.log(.info, raw: instance.element, "a user's pad is released")
        if isRunning { endIfAllHave() }
    }

    /// The caps that inputs accept. The delivered format comes first, so that upstream prefers the format without
    /// conversion.
    private var acceptedCaps: Caps {
        let settings = settings.current
        let own = AudioInfo(.s16, rate: Int(settings.rate), channels: Int(settings.channels))!.caps
        return own.appending(Self.convertibleCaps)
    }

    private static let convertibleCaps = Caps("audio/x-raw, rate=[ 1, 2147483647 ], channels=[ 1, 64 ]")!.constant

    /// Builds an input's conversion before its caps go downstream. Called on the streaming thread. Returns false if the
    /// caps are refused.
    private func prepare(_ input: SpeakerInput, _ pad: GhostPad, _ caps: Caps) -> Bool {
        guard let format = delivery.format else { return false }
        determineLiveness()
        // An input that was linked while the graph plays is connected only now, so that the mix hasn't waited for it.
        connect(input)
        // Don't fail the graph for one user of a session: the session warns, and the other users are still heard.
        if input.isFromSession, caps.unpositionedChannels != nil { return false }
        if let channels = caps.unpositionedChannels {
            postError(
                .notNegotiated,
                "\(name): can't mix \(channels) channels without positions; set a channel-mask upstream",
                debug: "upstream sends \(caps)")
            return false
        }
        guard input.prepare(caps, for: format, pad, in: self) else {
            // The buffers after the caps find the released pad unlinked, which a tee upstream can be set to allow.
            guard !isReleased(input) else { return true }
            guard input.isConnected, !input.isFromSession else { return false }
            postError(
                .notNegotiated, "\(name): the input isn't raw audio",
                debug: "upstream sends \(caps); expected raw audio"
            )
            return false
        }
        return true
    }

    private func isReleased(_ input: SpeakerInput) -> Bool {
        state.withLock { state in !state.inputs.values.contains { $0.input === input } }
    }

    /// Connects an input whose stream ends before it has a format, as an empty file's stream does, so that its EOS
    /// reaches the mixer.
    private func prepareForEnd(_ input: SpeakerInput, _ pad: GhostPad) {
        guard delivery.format != nil else { return }
        connect(input)
        input.linkDirectly(pad)
    }

    // MARK: Called on the streams' threads

    /// Determines whether the speaker is live, which is the case if one of its streams is live. Called when a stream
    /// gets a format, and again at the first buffer, with an assumption for the case that no stream answers the query.
    private func determineLiveness(orAssume assumed: Bool? = nil) {
        guard delivery.liveness == nil else { return }
        let pads = state.withLock { $0.inputs.values.map(\.pad.pad) }
        let answers = pads.filter(\.isLinked).compactMap { $0.upstreamLatency()?.isLive }
        guard let isLive = answers.contains(true) ? true : answers.isEmpty ? assumed : false else { return }
        if isLive { mix.becomeLive() }
        delivery.open(isLive: isLive)
    }

    /// Called when an input's flush begins. In a mix that isn't live, that is a seek. In a live mix, a user's flush
    /// must not drop the last sound of users who have left.
    private func inputFlushed() { if delivery.liveness != true { mix.releaseDraining() } }

    /// Called when an input brings its first buffer or ends.
    private func inputChanged(_ padName: String) {
        determineLiveness(orAssume: false)
        guard let input = state.withLock({ $0.inputs[padName]?.input }), input.hasEnded else { return }
        if delivery.liveness == true, !input.isShared { mix.keepGoing() }
        endIfAllHave()
    }

    /// Ends the mix if all users' streams have ended, and the delivery if the share's stream has also ended.
    private func endIfAllHave() {
        let (users, shares, mixHasEnded) = state.withLock { ($0.users, $0.shares, $0.mixHasEnded) }
        if users.isEmpty {
            if !shares.isEmpty, shares.allSatisfy(\.hasEnded), !mixHasEnded { endWithoutUsers() }
        } else if users.allSatisfy(\.hasEnded) {
            mix.endKeeper()
        }
        if mixHasEnded { endDelivery() }
    }

    private func mixEnded() {
        state.withLock { $0.mixHasEnded = true }
        determineLiveness(orAssume: false)
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

    override class var observesChildMessages: Bool { true }

    /// Counts the late samples that the mixer's pads report in QoS messages.
    override func childPosted(_ message: Message) -> Bool {
        guard case .qualityOfService(_, _, let dropped) = message.kind, dropped != .max else { return true }
        let increase = reported.withLock { reported in
            defer { reported[message.sourcePath] = dropped }
            return dropped &- min(dropped, reported[message.sourcePath] ?? 0)
        }
        lateSamples.wrappingAdd(increase, ordering: .relaxed)
        return true
    }
}

extension VirtualSpeakerElement: NodeTraits {
    static var missingInputEffect: String? { "there is nothing to hear" }
    static var userPads: [UserPad] { [UserPad(prefix: "user_", requiresEscaping: false)] }
}
