import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import Synchronization

/// `virtualmic`: a live source of raw sound that a handler sends.
///
/// Sound goes through the same gate as the frames of a `videosource`. The streaming thread takes blocks from the gate,
/// converts them to a format that downstream accepts, and gives each sample its time by counting. If no block arrives
/// in time, it sends silence.
final class VirtualMicElement: PushSource, ConfigurableElement, SourceElement, NodeTraits, @unchecked Sendable {
    // `@unchecked Sendable`: constants, state behind locks, and state that only the streaming thread uses.

    static let defaultSettings = MicSettings()
    let settings = SettingsStore(defaultSettings)

    private let lifecycle: SourceLifecycle<AudioSourceHandle>
    let gate: AudioGate
    private let device: DeviceInput
    /// The pad `sink`, once it was requested.
    private let input = Mutex<InputPad?>(nil)
    private let hasInput = Atomic<Bool>(false)
    /// The processor attached from Swift. Kept across runs.
    private let processor = Mutex<AudioProcessorHandle?>(nil)
    /// The minimum latency of the device's sound, in nanoseconds.
    private let upstreamLatency = Atomic<UInt64>(0)
    /// The maximum latency of the device's sound, in nanoseconds: the elements upstream can hold that much back.
    private let upstreamMaximum = Atomic<UInt64>(0)
    /// Whether there was a flush that the streaming thread hasn't handled yet.
    private let isFlushed = Atomic<Bool>(false)
    /// The latency that the assembler adds, in nanoseconds, for the LATENCY query.
    let delay = Atomic<UInt64>(0)

    // Only the streaming thread uses these. `start` resets them.
    var assembler: BlockAssembler = defaultSettings.assembler
    var isLive = true
    var jitterNanoseconds: UInt64 = 0
    private var bufferTime = 0
    /// Whether the status is on. Only then does silence go out in place of missing sound.
    var isOn = false
    /// A step that must wait until everything before it has gone out.
    var postponed: AudioGate.Queue.Step?
    var beginning = InitialBlocks()

    static let log = DebugCategory("virtualmic", "MediaGraph virtual microphone")

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.virtualMic, typeName: "GstVirtualMic", longName: "Virtual microphone",
            classification: "Source/Audio", summary: "Live source of raw audio that a handler sends",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("src", .source, caps: AudioSender.caps(stereo: true)),
                PadTemplate("sink", .sink, .request, caps: AudioSender.caps(stereo: true)),
            ],
            properties: properties, abiVersion: NodeDefinition.abiVersion)
    }

    private static let vtable = NodeVTable.make { vtable in
        vtable.set_audio_processor = { NodeVTable.setHandler($0, $1, $2, VirtualMicElement.attach) }
        vtable.set_audio_source = { NodeVTable.setHandler($0, $1, $2, VirtualMicElement.attach) }
    }

    required init(instance: ElementInstance) {
        gate = AudioGate(owner: WeakElement(instance), marks: ())
        device = DeviceInput(gate)
        lifecycle = SourceLifecycle(gate)
        super.init(instance: instance)
        NodeVTable.install(Self.vtable.pointer, on: instance)
    }

    /// Attaches a source; `nil` removes the source, also one that `handler` names.
    private func attach(_ abi: MGAudioSource?) throws(MediaGraphError) {
        try lifecycle.attach(
            to: name, isInNull: isInNull, handler: settings.current.handler,
            abi.map { abi in { AudioSourceHandle(abi) } })
        if abi == nil { clearHandlerProperties() }
    }

    func returnSource() { lifecycle.returnSource() }

    /// Attaches a processor for the device's sound; `nil` removes the processor.
    private func attach(_ abi: MGAudioProcessor?) throws(MediaGraphError) {
        guard isInNull else {
            throw .lockedWhileRunning(
                .init(
                    "\(name)'s processor",
                    actual: "can't be attached or detached while the graph runs; stop the graph first"))
        }
        let replaced = processor.withLock { processor in
            defer { processor = abi.map(AudioProcessorHandle.init) }
            return processor
        }
        // Release the old processor outside the lock: its deinitializer may run any code.
        withExtendedLifetime(replaced) {}
    }

    override func requestPad(_ template: String, name: String?) -> GhostPad? {
        guard !isRunning else {
            postWarning(
                .settings, "\(self.name): sink can't be added while the graph runs; link it before the graph starts")
            return nil
        }
        guard !hasInput.exchange(true, ordering: .acquiringAndReleasing) else {
            postWarning(.settings, "\(self.name): sink is already linked")
            return nil
        }
        // Make the pad outside the lock: callbacks for the new pad may call any function of the element.
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
        var role = DeviceInput.Role(processor: processor.withLock { $0 }, onError: settings.onError)
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
        guard try lifecycle.initialize(settings.gate, downstream: .anything) else {
            postWarning(
                .settings, "\(name): there is no source, so nothing will be sent; set handler=… or attach a source")
            return
        }
    }

    // MARK: Data flow

    override func start() -> Bool {
        let settings = settings.current
        assembler = settings.assembler
        isLive = settings.pace == .live
        jitterNanoseconds = settings.jitter
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
    override func latencyDecided(_ latency: Duration) { gate.latencyDecided(latency) }
    override func downstreamReconfigured() { gate.downstreamReconfigured() }
    override func received(_ structure: Structure) { lifecycle.received(structure) }

    override func endOfStreamRequested() -> Bool {
        gate.endOfStreamRequested()
        return true
    }

    /// The minimum latency is the jitter that a block may be late, plus the assembler's delay, plus the device's
    /// latency. The maximum adds the sound that the queue can hold back.
    override var latency: (isLive: Bool, minimum: Duration, maximum: Duration?) {
        let settings = settings.current
        guard settings.pace == .live else { return (false, .zero, nil) }
        let usedInput = device.isReplaced ? nil : input.withLock { $0 }
        let upstream = usedInput?.pad.upstreamLatency()
        upstreamLatency.store(upstream?.minimum.nanoseconds ?? 0, ordering: .relaxed)
        upstreamMaximum.store((upstream?.maximum ?? upstream?.minimum)?.nanoseconds ?? 0, ordering: .relaxed)
        let minimum =
            settings.jitter + delay.load(ordering: .relaxed) + upstreamLatency.load(ordering: .relaxed)
        return (
            true, .nanoseconds(minimum), .nanoseconds(minimum + settings.bufferTime + settings.maxDuration)
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
            if !beginning.isEmpty, !keepsHolding(step) {
                postponed = step
                if let flow = pushInitialBlocks() { return flow }
                continue
            }
            switch step {
            case nil: insertSilence()
            case .frame(let block):
                if let flow = receive(block, .frame(block)) { return flow }
            case .announced(let block, _, let segment, let on):
                if let flow = receive(block, .announced(block, caps: false, segment: segment, on: on)) { return flow }
            case .off(let isRequested):
                if assembler.finish() {
                    postponed = step
                } else {
                    isOn = false
                    assembler.stop(isLive: isLive)
                    pushSticky(StreamStatus.event(on: false, isRequested: isRequested))
                }
            case .reconfigure: renegotiate()
            case .flush: return .flushing
            case .end:
                if assembler.finish() {
                    postponed = .end
                    continue
                }
                // Post the error here and return EOS: for an error result, the base class would post an error of its
                // own.
                if case .failure(let error) = gate.ending { postError(.processing, "\(name): \(error)") }
                return .endOfStream
            case .drained: break
            }
        }
    }

    /// Waits for the gate's next step. Returns `nil` if no block arrived in time.
    private func next() -> AudioGate.Queue.Step? {
        if !beginning.isEmpty { return gate.next(by: beginning.deadline(jitterNanoseconds: jitterNanoseconds)) }
        // Without a format there can be no silence, so only a block ends the wait.
        guard isLive, isOn, assembler.output != nil, assembler.timeline.hasBegun, element.currentRunningTime != nil
        else { return gate.next() }
        let allowed = jitterNanoseconds + upstreamMaximum.load(ordering: .relaxed)
        return gate.next(by: ClockTime(nanoseconds: assembler.due.nanoseconds + allowed))
    }

    /// Sends the waiting sound and then silence, because no block arrived in time.
    private func insertSilence() {
        _ = assembler.finish()
        assembler.fill()
        postponed = .drained
    }

    // `num-buffers` is reached: drop the queued blocks, but send status off.
    override func lastBufferSent() {
        discardPostponed()
        gate.endOfStreamRequested()
        while true {
            switch gate.next() {
            case .frame(let block), .announced(let block, _, _, _): gate.drop(block)
            case .off: pushSticky(StreamStatus.event(on: false))
            case .reconfigure, .drained: break
            case .flush, .end: return
            }
        }
    }

    private func discardPostponed() {
        switch postponed.take() {
        case .frame(let block), .announced(let block, _, _, _): gate.drop(block)
        default: break
        }
        for block in beginning.take() { gate.drop(block) }
    }

    /// Pushes a block, or postpones it, as `step`, until everything before it has gone out. Returns the flow result if
    /// the stream ends, otherwise `nil`.
    private func receive(_ block: QueuedBlock, _ step: AudioGate.Queue.Step) -> FlowReturn? {
        let info = block.format.info
        if assembler.needsFormat(info) {
            guard !assembler.finish() else {
                postponed = step
                return nil
            }
            guard setFormat(info) else {
                gate.drop(block)
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
            guard isLive,
                assembler.shouldDrop(for: block, queued: gate.level, held: bufferTime + Int(jitterNanoseconds))
            else { break }
            // Dropped silence of a device isn't counted as a loss.
            if block.access.isGap { block.discard() } else { gate.drop(block) }
            return nil
        case .jump:
            guard !assembler.finish() else {
                postponed = .frame(block)
                return nil
            }
            guard !isHeldBack(block) else {
                beginning.add(block)
                return beginning.isComplete(jitterNanoseconds: jitterNanoseconds) ? pushInitialBlocks() : nil
            }
            let time = block.access.presentationTimestamp ?? .zero
            if isLive, !block.isGiven {
                assembler.beginAfterArrival(time)
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

    /// Passes a block to the assembler. Returns the flow result if the stream ends, otherwise `nil`.
    func push(_ block: QueuedBlock) -> FlowReturn? {
        if isLive, let step = assembler.correctDrift(block) { report(step) }
        let format = block.format
        guard assembler.push(block.take()) else {
            postError(.processing, "\(name): can't convert \(format.info.caps): out of memory")
            return .error
        }
        return nil
    }

    /// Logs and counts a correction of the sender's clock drift.
    private func report(_ step: BlockAssembler.Step) {
        let object = instance.element
        switch step {
        case .resampled(let offset):
            Self.log.log(.info, raw: object, "drift: sound is \(offset * 1000) ms late and is resampled from now on")
        case .filled(let frames):
            Self.log.log(.info, raw: object, "drift: sound is late, inserting \(frames) frames of silence")
        case .skipped(let frames):
            gate.statistics.countSkipped(nanoseconds: assembler.output?.durationNanoseconds(ofFrames: frames) ?? 0)
            Self.log.log(.info, raw: object, "drift: sound is early, dropping \(frames) frames")
        }
    }

    /// Drops all waiting sound; the next block begins a new timeline.
    private func flush() {
        discardPostponed()
        assembler.reset()
    }

    /// Sends a buffer at its time. Returns false if a flush came first.
    private func send(_ piece: consuming Buffer, _ buffer: inout Buffer?) -> Bool {
        if isLive, let time = piece.access.presentationTimestamp { gate.waitInPace(until: time) }
        guard !isFlushed.load(ordering: .acquiring) else { return false }
        if piece.access.isGap { gate.statistics.countSilence(nanoseconds: piece.access.durationNanoseconds ?? 0) }
        buffer = consume piece
        return true
    }
}

extension VirtualMicElement {
    static var checks: [any DescriptionCheck] { [MicInputCheck(), MicChannelsCheck()] }
}
