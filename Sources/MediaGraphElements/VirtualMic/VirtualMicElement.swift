import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import Synchronization

/// `virtualmic`: raw sound from a handler, as a live source.
///
/// What is sent goes through the same gate as a `videosource`'s. The streaming thread takes it out, converts it to what
/// downstream wants, gives each sample its time by counting, and where nothing comes in time puts silence.
final class VirtualMicElement: PushSource, ConfigurableElement, NodeTraits, @unchecked Sendable {
    // `@unchecked Sendable`: constants, state behind locks, and what belongs to the streaming thread.

    static let defaultSettings = MicSettings()
    let settings = SettingsStore(defaultSettings)

    private let lifecycle: SourceLifecycle<AudioSourceHandle>
    let gate: AudioGate
    private let device: DeviceInput
    /// The `sink`, once it was asked for.
    private let input = Mutex<InputPad?>(nil)
    private let hasInput = Atomic<Bool>(false)
    /// The processor from Swift: stays for the next run too.
    private let processor = Mutex<AudioProcessorHandle?>(nil)
    /// How late the device's sound comes anyway, and how late it may come: what is upstream keeps that much.
    private let upstreamLatency = Atomic<UInt64>(0)
    private let upstreamMaximum = Atomic<UInt64>(0)
    /// There was a flush that the streaming thread hasn't seen.
    private let isFlushed = Atomic<Bool>(false)
    /// How long sound stays here beyond its time, for LATENCY.
    let delay = Atomic<UInt64>(0)

    // The streaming thread's; made anew before it runs.
    var assembler: BlockAssembler = defaultSettings.assembler
    var isLive = true
    var jitter = ClockTime.zero
    private var bufferTime = 0
    /// Between status on and off: silence takes the place of what doesn't come.
    private var isOn = false
    /// What is to be done when all before it has gone out.
    var postponed: AudioGate.Queue.Step?
    var beginning = SoundBeginning()

    static let log = DebugCategory("virtualmic", "MediaGraph virtual microphone")

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.virtualMic, typeName: "GstVirtualMic", longName: "Virtual microphone",
            classification: "Source/Audio", summary: "Raw audio that a handler sends, as a live source",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("src", .source, caps: AudioSender.caps(stereo: true)),
                PadTemplate("sink", .sink, .request, caps: AudioSender.caps(stereo: true)),
            ],
            properties: properties, abiVersion: NodeDefinition.abiVersion)
    }

    private static let vtable = NodeVTable.make { vtable in
        vtable.set_audio_processor = { element, processor, error in
            NodeVTable.answer(element, error, as: VirtualMicElement.self) { (node) throws(MediaGraphError) in
                try node.attach(processor?.pointee)
            }
        }
        vtable.set_audio_source = { element, source, error in
            NodeVTable.answer(element, error, as: VirtualMicElement.self) { (node) throws(MediaGraphError) in
                try node.attach(source?.pointee)
            }
        }
    }

    required init(instance: ElementInstance) {
        gate = AudioGate(owner: WeakElement(instance), marks: ())
        device = DeviceInput(gate)
        lifecycle = SourceLifecycle(gate)
        super.init(instance: instance)
        NodeVTable.install(Self.vtable.pointer, on: instance)
    }

    /// `nil` takes the source away, also the one that `handler` names.
    private func attach(_ abi: MGAudioSource?) throws(MediaGraphError) {
        try lifecycle.attach(
            to: name, isInNull: isInNull, handler: settings.current.handler,
            abi.map { abi in { AudioSourceHandle(abi) } })
        if abi == nil { clearHandlerProperties() }
    }

    /// `nil` takes the processor away.
    private func attach(_ abi: MGAudioProcessor?) throws(MediaGraphError) {
        guard isInNull else {
            throw .lockedWhileRunning(.init("\(name)'s processor", expected: "to be attached before the graph starts"))
        }
        let replaced = processor.withLock { processor in
            defer { processor = abi.map(AudioProcessorHandle.init) }
            return processor
        }
        // Let go outside the lock: the end of a handler may call anything.
        withExtendedLifetime(replaced) {}
    }

    override func requestPad(_ template: String, name: String?) -> GhostPad? {
        guard !isRunning else {
            postWarning(.settings, "\(self.name): its sink must be linked before it runs")
            return nil
        }
        guard !hasInput.exchange(true, ordering: .acquiringAndReleasing) else {
            postWarning(.settings, "\(self.name) has one sink, which is taken")
            return nil
        }
        // Whoever hears of the new pad may ask the element anything.
        let pad = InputPad("sink", on: instance, delegate: device)
        input.withLock { $0 = pad }
        return pad?.requested
    }

    override func releasePad(_ pad: GhostPad) {
        input.withLock { $0.take() }?.remove()
        hasInput.store(false, ordering: .releasing)
    }

    func validate(_ proposed: MicSettings, changing property: String) throws(PropertyRefused) {
        if property == "handler" { try lifecycle.validate(handler: proposed.handler) }
    }

    func settingsDidChange(_ property: String) {
        if property == "stereo" { device.allowsStereo.store(settings.current.stereo, ordering: .relaxed) }
    }

    // MARK: The lifecycle

    override func changeState(_ change: StateChange) -> StateChangeResult {
        do throws(MediaGraphError) {
            return try lifecycle.changeState(change, initialize: initialize) { super.changeState(change) }
        } catch {
            postError(.settings, "\(name): \(error)")
            return .failure
        }
    }

    private func initialize() throws(MediaGraphError) {
        let settings = settings.current
        let hasInput = input.withLock { $0 != nil }
        var role = DeviceInput.Role(processor: processor.withLock { $0 })
        if HandlerRegistry.shared.has(.audioProcessor, settings.handler) {
            guard hasInput else {
                throw .wrongUsage(
                    .init(
                        "handler \(settings.handler)",
                        actual: "processes input, but the sink isn't linked; link a source to it"))
            }
            role.processor = AudioProcessorHandle(
                try HandlerRegistry.shared.make(
                    MGAudioProcessor.self, settings.handler, options: settings.options))
        } else {
            try lifecycle.setNamed(settings.handler, of: name) { () throws(MediaGraphError) in
                AudioSourceHandle(
                    try HandlerRegistry.shared.make(MGAudioSource.self, settings.handler, options: settings.options))
            }
        }
        role.isReplaced = lifecycle.hasSource
        if hasInput, !role.isReplaced {
            try lifecycle.setNamed("sink", of: name) { AudioSourceHandle(MGAudioSource(DeviceMic(), name: "sink")) }
        }
        device.set(role)
        guard try lifecycle.initialize(settings.gate, downstream: nil) else {
            postWarning(.settings, "\(name): nothing will be sent: give it handler=… or attach a source")
            return
        }
    }

    // MARK: Data flow

    override func start() -> Bool {
        let settings = settings.current
        assembler = settings.assembler
        isLive = settings.pace == .live
        jitter = ClockTime(nanoseconds: settings.jitter)
        bufferTime = Int(settings.bufferTime)
        isOn = false
        postponed = nil
        delay.store(assembler.delay.nanoseconds, ordering: .relaxed)
        gate.streamBegins()
        return true
    }

    override func stop() -> Bool {
        discardPostponed()
        return true
    }

    override func unlock() {
        isFlushed.store(true, ordering: .releasing)
        gate.flush()
    }
    override func unlockStop() { gate.resume() }
    override func latencyDecided(_ latency: ClockTime) { gate.latencyDecided(latency) }
    override func downstreamReconfigured() { gate.downstreamReconfigured() }

    override func endOfStreamRequested() -> Bool {
        gate.endOfStreamRequested()
        return true
    }

    /// A block may be late by the jitter, and its last samples wait for others and in the filter; the queue holds back what
    /// comes early.
    override var latency: (isLive: Bool, minimum: ClockTime, maximum: ClockTime?) {
        let settings = settings.current
        guard settings.pace == .live else { return (false, .zero, nil) }
        let heard = device.isReplaced ? nil : input.withLock { $0 }
        let upstream = heard?.pad.upstreamLatency()
        upstreamLatency.store(upstream?.minimum.nanoseconds ?? 0, ordering: .relaxed)
        upstreamMaximum.store((upstream?.maximum ?? upstream?.minimum)?.nanoseconds ?? 0, ordering: .relaxed)
        let minimum =
            settings.jitter + delay.load(ordering: .relaxed) + upstreamLatency.load(ordering: .relaxed)
        return (
            true, ClockTime(nanoseconds: minimum),
            ClockTime(nanoseconds: minimum + settings.bufferTime + settings.maxDuration)
        )
    }

    override func create(_ buffer: inout Buffer?) -> FlowReturn {
        gate.streamingThreadMoved(isOutward: false)
        defer { gate.streamingThreadMoved(isOutward: true) }
        while true {
            if isFlushed.exchange(false, ordering: .acquiring) { flush() }
            if let piece = assembler.take(isLast: postponed != nil) {
                guard send(piece, &buffer) else { continue }
                return .ok
            }
            let step = postponed.take() ?? next()
            if !beginning.isEmpty, !goesOn(step) {
                postponed = step
                if let flow = endBeginning() { return flow }
                continue
            }
            switch step {
            case nil: ranDry()
            case .frame(let block):
                if let flow = receive(block, .frame(block)) { return flow }
            case .announced(let block, _, let segment, let on):
                if let flow = receive(block, .announced(block, caps: false, segment: segment, on: on)) { return flow }
            case .off:
                if assembler.finish() {
                    postponed = .off
                } else {
                    isOn = false
                    assembler.stop(isLive: isLive)
                    pushSticky(StreamStatus.event(on: false))
                }
            case .reconfigure: renegotiate()
            case .flush: return .flushing
            case .end:
                if assembler.finish() {
                    postponed = .end
                    continue
                }
                // EOS behind an error, as the base class does itself after one, but without an error of its own.
                if case .failure(let error) = gate.ending { postError(.processing, "\(name): \(error)") }
                return .endOfStream
            case .drained: break
            }
        }
    }

    /// `nil`: nothing has come in time.
    private func next() -> AudioGate.Queue.Step? {
        if !beginning.isEmpty { return gate.next(by: beginning.deadline(jitter)) }
        guard isLive, isOn, assembler.timeline.hasBegun, element.currentRunningTime != nil else { return gate.next() }
        let allowed = jitter.nanoseconds + upstreamMaximum.load(ordering: .relaxed)
        return gate.next(by: ClockTime(nanoseconds: assembler.due.nanoseconds + allowed))
    }

    /// What is there goes out, and silence behind it.
    private func ranDry() {
        _ = assembler.finish()
        assembler.fill()
        postponed = .drained
    }

    override func lastBufferSent() {
        discardPostponed()
        gate.endOfStreamRequested()
        while true {
            switch gate.next() {
            case .frame(let block), .announced(let block, _, _, _): gate.lose(block)
            case .off: pushSticky(StreamStatus.event(on: false))
            case .reconfigure, .drained: break
            case .flush, .end: return
            }
        }
    }

    private func discardPostponed() {
        switch postponed.take() {
        case .frame(let block), .announced(let block, _, _, _): gate.lose(block)
        default: break
        }
        for block in beginning.take() { gate.lose(block) }
    }

    /// Takes a block in, or puts it off (as `step`) until what has to go out before it has. A result ends the stream.
    private func receive(_ block: QueuedBlock, _ step: AudioGate.Queue.Step) -> FlowReturn? {
        let info = block.format.info
        if assembler.needsFormat(info) {
            guard !assembler.finish() else {
                postponed = step
                return nil
            }
            guard setFormat(info) else {
                block.discard()
                return .endOfStream
            }
        }
        if case .announced(_, _, let segment, let on) = step {
            if segment { pushSegment() }
            if on { pushSticky(StreamStatus.event(on: true)) }
            isOn = true
        }
        switch assembler.gap(before: block, isLive: isLive) {
        case .none:
            guard isLive, assembler.makesUp(for: block, queued: gate.level, held: bufferTime + Int(jitter.nanoseconds))
            else { break }
            // A device's silence isn't missed.
            if block.access.isGap { block.discard() } else { gate.lose(block) }
            return nil
        case .jump:
            guard !assembler.finish() else {
                postponed = .frame(block)
                return nil
            }
            guard !isHeldBack(block) else {
                beginning.add(block)
                return beginning.isComplete(jitter) ? endBeginning() : nil
            }
            let time = block.access.presentationTimestamp ?? .zero
            if isLive, !block.isGiven {
                assembler.beginBehind(time)
            } else {
                assembler.begin(at: block.isGiven ? time : .zero)
            }
        case .silence(let frames):
            if !assembler.isFilling {
                _ = assembler.finish()
                assembler.fill(frames)
            }
            postponed = .frame(block)
            return nil
        }
        return push(block)
    }

    /// A result ends the stream.
    func push(_ block: QueuedBlock) -> FlowReturn? {
        if isLive, let step = assembler.keepInStep(block) { report(step) }
        let format = block.format
        guard assembler.push(block.take()) else {
            postError(.processing, "\(name): no memory to convert \(format.info.caps)")
            return .error
        }
        return nil
    }

    /// What was done because the sender's clock isn't the graph's.
    private func report(_ step: BlockAssembler.Step) {
        let object = instance.element
        switch step {
        case .resampled(let offset):
            Self.log.log(.info, raw: object, "sound is \(offset * 1000) ms late: it is resampled from here on (drift)")
        case .filled(let frames):
            Self.log.log(.info, raw: object, "sound is late: \(frames) frames of silence are put in (drift)")
        case .skipped(let frames):
            gate.statistics.countSkipped(assembler.output?.duration(ofFrames: frames) ?? .zero)
            Self.log.log(.info, raw: object, "sound is early: \(frames) frames are left out (drift)")
        }
    }

    /// What waits is lost, and the next block says itself when it is.
    private func flush() {
        discardPostponed()
        assembler.reset()
    }

    /// One piece, at its time. False: a flush came before.
    private func send(_ piece: consuming Buffer, _ buffer: inout Buffer?) -> Bool {
        if isLive, let time = piece.access.presentationTimestamp { gate.waitInPace(until: time) }
        guard !isFlushed.load(ordering: .acquiring) else { return false }
        if piece.access.isGap { gate.statistics.countSilence(piece.access.duration ?? .zero) }
        buffer = consume piece
        return true
    }
}

extension VirtualMicElement {
    static var checks: [any DescriptionCheck] { [MicInputCheck(), MicChannelsCheck()] }
}
