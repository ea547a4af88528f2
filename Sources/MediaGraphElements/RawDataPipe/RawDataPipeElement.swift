import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import Synchronization

/// `rawdatapipe`: hands the frames of a stream to a handler, in the format and size that it asks for.
///
/// A bin around appsink. Conversion is done with GStreamer's own engine where frames are delivered, and not at all where
/// upstream already gives what the handler wants; the pad says first what that is, so upstream can.
final class RawDataPipeElement: BinElement, ConfigurableElement, @unchecked Sendable {
    // `@unchecked Sendable`: constants, and state behind locks.

    static let defaultSettings = PipeSettings()
    let settings = SettingsStore(defaultSettings)

    private struct State {
        /// From Swift: stays for the next run too.
        var attached: ConsumerHandle?
        /// From `handler=`: made anew for each run.
        var named: ConsumerHandle?
        var current: ConsumerHandle? { attached ?? named }
    }

    private let state = Mutex(State())
    private let delivery: PipeDelivery
    private let sink: GhostPad
    private let branch = Mutex<RenderBranch?>(nil)
    /// From the first word about making one until it is removed.
    private let hasBranch = Atomic<Bool>(false)

    static let log = DebugCategory("rawdatapipe", "MediaGraph raw data pipe")

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.rawDataPipe, typeName: "GstRawDataPipe", longName: "Raw data pipe",
            classification: "Sink/Video",
            summary: "Hands raw video frames to a handler, in the format and size that it asks for",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate(
                    "sink", .sink, caps: "\(BufferType.native.caps); \(BufferType.encoded.caps)"),
                PadTemplate("src", .source, .request, caps: "ANY"),
            ],
            properties: [
                .setting(
                    "handler", of: Self.self, \.handler, changes: .untilInitialized, NodeDefinition.handlerBlurb),
                .setting(
                    "options", of: Self.self, \.options, changes: .untilInitialized, NodeDefinition.optionsBlurb),
                .setting(
                    "format", of: Self.self, \.format,
                    "Pixel format of the delivered frames, to which others are converted. auto: the handler's first format, or I420 if it accepts any (BGRA is then converted to I420)"
                ),
                .setting(
                    "resolution", of: Self.self, \.resolution,
                    "Height that frames have at most, before rotation: \(Resolution.expected). The aspect is kept and nothing is enlarged"
                ),
                .setting(
                    "memory-mode", of: Self.self, \.memoryMode, changes: .untilInitialized,
                    "Whether the handler borrows its frames or owns them"),
                .setting(
                    "backpressure", of: Self.self, \.backPressure, "What happens when the handler is too slow"),
                .setting(
                    "max-frames", of: Self.self, \.maxFrames, range: .values(1...1000),
                    "Frames that may wait for the handler"),
                .setting("sync", of: Self.self, \.synchronization, "Deliver frames at their time on the clock"),
                .setting("buffer-type", of: Self.self, \.bufferType, "What is handed over"),
                .setting(
                    "apply-rotation", of: Self.self, \.appliesRotation,
                    "Turn and flip frames upright, as their meta or the stream's tag says; they then report rotation none"
                ),
                .setting(
                    "apply-mirror", of: Self.self, \.appliesMirror, "Deliver frames mirrored, left and right swapped"),
                .setting(
                    "engine-render", of: Self.self, \.rendersEngine,
                    "Each frame leaves the pad src too; otherwise src has gaps in their place"),
                .setting(
                    "on-error", of: Self.self, \.onError,
                    "What happens when the handler or a delegate throws, or a frame can't be delivered"),
                NodeStatistics.property(of: Self.self) { $0.delivery.statistics },
            ],
            messages: [StreamStatus.messageDeclaration],
            abiVersion: NodeDefinition.abiVersion)
    }

    private static let vtable = NodeVTable.make { vtable in
        vtable.set_consumer = { element, consumer, error in
            NodeVTable.answer(element, error, as: RawDataPipeElement.self) { (node) throws(MediaGraphError) in
                try node.attach(consumer?.pointee)
            }
        }
        vtable.subscribe = { element, consumer, resolution, error in
            NodeVTable.answer(element, error, as: RawDataPipeElement.self) { (node) throws(MediaGraphError) in
                try node.subscribe(consumer!.pointee, resolution)
            }
        }
        vtable.unsubscribe = { element, identity, error in
            NodeVTable.answer(element, error, as: RawDataPipeElement.self) { (node) throws(MediaGraphError) in
                try node.delivery.unsubscribe(identity!)
            }
        }
    }

    required init(instance: ElementInstance) {
        guard let appSink = AppSink(name: "appsink") else {
            preconditionFailure("the element appsink is missing: install gstreamer1.0-plugins-base")
        }
        delivery = PipeDelivery(owner: WeakElement(instance), appSink: appSink)
        instance.add(appSink)
        sink = instance.addGhostPad("sink", target: appSink.staticPad("sink")!)
        super.init(instance: instance)
        NodeVTable.install(Self.vtable.pointer, on: instance)
        appSink.setDelegate(delivery)
        // What has been delivered goes back to its pool.
        appSink.keepsLastSample(false)
        // Handlers get frames at their time, not 20 ms after it, which sinks add for their own rendering.
        appSink.setProcessingDeadline(.zero)
        sink.chainToTarget()
        sink.onQuery { [instance] query in
            switch query {
            case .caps: .caps(ElementClass.implementation(of: instance.element, as: Self.self).acceptedCaps)
            case .allocation: ElementClass.implementation(of: instance.element, as: Self.self).answerToAllocation
            case .latency: .forward
            }
        }
        sink.onEvent { [instance, delivery] event in
            switch event {
            case .caps(let caps): return ElementClass.implementation(of: instance.element, as: Self.self).accepts(caps)
            case .flushStart: delivery.hold(.flushing)
            case .flushStop: delivery.flushStopped()
            case .streamStart, .endOfStream: break
            }
            return true
        }
    }

    deinit {
        // The appsink holds its delegate, which holds the appsink.
        delivery.close()
    }

    /// `nil` takes the handler away, also the one that `handler` names.
    private func attach(_ abi: MGVideoConsumer?) throws(MediaGraphError) {
        guard !isRunning else {
            throw .lockedWhileRunning(.init("\(name)'s handler", expected: "to be attached before the graph runs"))
        }
        guard let abi else {
            // Let go outside the lock: the end of a handler may call anything.
            let replaced = state.withLock { state in
                defer { state = State() }
                return state
            }
            withExtendedLifetime(replaced) {}
            return clearHandlerProperties()
        }
        try checkMemoryMode(abi.requiredMemoryMode)
        guard abi.queues == 0 || settings.current.bufferType == .raw else {
            throw .unsupported(
                .init(
                    "\(name)'s frames", expected: "buffer-type=raw", actual: settings.current.bufferType.nick))
        }
        guard settings.current.handler.isEmpty, state.withLock({ $0.current == nil }) else {
            throw .alreadyInUse(.init(name, expected: "one handler", actual: "a second"))
        }
        let handle = ConsumerHandle(abi)
        state.withLock { $0.attached = handle }
    }

    private func checkMemoryMode(_ required: MemoryMode?) throws(MediaGraphError) {
        guard required == .stack, settings.current.memoryMode == .heap else { return }
        throw .invalidParameter(
            .init("\(name)'s memory-mode", expected: "stack, for a handler that borrows frames", actual: "heap"))
    }

    private func subscribe(_ abi: MGVideoConsumer, _ resolution: Int32) throws(MediaGraphError) {
        try checkMemoryMode(abi.requiredMemoryMode)
        let type = settings.current.bufferType
        guard type == .raw || resolution == Resolution.native.rawValue else {
            throw .invalidParameter(
                .init("resolution", expected: "native, for buffer-type=\(type.nick)", actual: "\(resolution)"))
        }
        try delivery.subscribe(abi, resolution: try Resolution(checking: resolution))
    }

    /// What is delivered: what was asked for, or else what the handler likes best.
    private func format(for consumer: ConsumerHandle?) throws(MediaGraphError) -> VideoFormat {
        let wanted = settings.current.format.format
        let taken = consumer?.formats ?? []
        guard let wanted else { return taken.first ?? .i420 }
        guard taken.isEmpty || taken.contains(wanted) else {
            throw .unsupported(
                .init(
                    "format=\(settings.current.format.nick)",
                    expected: "one that handler \(consumer?.name ?? "") takes: "
                        + taken.map(\.gstreamerName).joined(separator: ", ")))
        }
        return wanted
    }

    /// What it delivers comes first, so that upstream gives that where it can; then all that can be converted.
    private var acceptedCaps: Caps {
        let own = ownCaps
        guard let downstream = branch.withLock({ $0?.source?.pad })?.peerCaps() else { return own }
        return own.intersection(downstream)
    }

    private var ownCaps: Caps {
        let type = settings.current.bufferType
        guard type == .raw else { return type.caps }
        let format = (try? format(for: state.withLock { $0.current })) ?? .i420
        // A stream whose alpha is off is delivered as I420.
        let names = format == .a420 ? "{ A420, I420 }" : format.gstreamerName
        let preferred = Caps("video/x-raw, format=\(names)")!
        return preferred.appending(Self.convertibleCaps)
    }

    private static let convertibleCaps = BufferType.raw.caps.constant

    private func accepts(_ caps: Caps) -> Bool {
        let accepted = acceptedCaps
        let isRaw = settings.current.bufferType == .raw
        if isRaw ? caps.areFrames(in: accepted) : caps.isSubset(of: accepted) {
            delivery.findOutLiveness()
            return true
        }
        postError(
            .notNegotiated, "\(name): the incoming format isn't supported",
            debug: "upstream gives \(caps); this pipe takes \(accepted)\(isRaw ? ", progressive or interleaved" : "")")
        return false
    }

    override func changeState(_ change: StateChange) -> StateChangeResult {
        switch change {
        case .nullToReady:
            do throws(MediaGraphError) { try makeHandler() } catch {
                postError(.settings, "\(name): \(error)")
                return .failure
            }
        case .readyToPaused:
            let consumer = state.withLock { $0.current }
            do throws(MediaGraphError) {
                if let consumer { try checkMemoryMode(consumer.memoryMode) }
                let format = try format(for: consumer)
                try settings.current.check(format)
                delivery.start(settings.current, handler: consumer, format: format)
                // No preroll: a graph whose pipe waits for a user who isn't there still reaches PLAYING. But behind pads that
                // come with the data, where another element announces PAUSED: GStreamer 1.22 may post that behind the
                // PLAYING which the application asked for upon it, and forgets end-of-stream then. A sink that prerolls
                // announces it itself, with the lock held that PLAYING needs.
                // Nor beside `src`, whose sink would keep the first buffer.
                delivery.appSink.setPrerolls(!hasSource && sink.pad.isLinkedLater())
                if !settings.current.rendersEngine { branch.withLock { $0?.hideFrames() } }
                Self.log.log(
                    .info, raw: instance.element,
                    "handler \(consumer?.name ?? "none"), format \(format.gstreamerName), \(settings.current.resolution.text)"
                )
            } catch {
                postError(.settings, "\(name): \(error)")
                return .failure
            }
        case .pausedToPlaying, .none(.playing): delivery.hold(.paused)
        // The sink that is about to play completes that change by itself, with its first frame. GStreamer 1.22 may take it then
        // for the end of the bin's last change, to PAUSED: a bin that is PAUSED, by its own account, may have a sink that plays.
        case .none(.paused): delivery.hold(.paused)
        case .playingToPaused:
            delivery.hold(.paused)
            // The frame that a sink keeps in PAUSED waits with the others in the delivery.
            delivery.appSink.setPrerolls(false)
        case .pausedToReady: delivery.hold(.stopping)
        default: break
        }
        let result = super.changeState(change)
        switch change {
        case .pausedToPlaying, .none(.playing): delivery.release(.paused)
        case .pausedToReady:
            delivery.stop()
            branch.withLock { $0?.showFrames() }
            if !hasSource { removeBranch() }
        case .readyToPaused where result == .failure: delivery.stop()
        case .readyToPaused: delivery.started()
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

    // MARK: The pad `src`, on request

    override func requestPad(_ template: String, name: String?) -> GhostPad? {
        guard !isRunning else {
            postWarning(.settings, "\(self.name): src is refused: link it before the graph runs")
            return nil
        }
        guard !hasBranch.exchange(true, ordering: .acquiringAndReleasing) else { return nil }
        // Made outside the lock: who hears of the new pad may ask for the caps of this one.
        let made = RenderBranch(self, from: sink, to: delivery.appSink)
        branch.withLock { $0 = made }
        if made == nil { hasBranch.store(false, ordering: .releasing) }
        return made?.source
    }

    override func releasePad(_ pad: GhostPad) {
        guard isRunning else { return removeBranch() }
        guard let source = branch.withLock({ $0?.takeSource() }) else { return }
        removeWhileRunning(source)
    }

    private func removeBranch() {
        guard let branch = branch.withLock({ $0.take() }) else { return }
        branch.remove(from: self, sink, delivery.appSink)
        hasBranch.store(false, ordering: .releasing)
    }

    private var hasSource: Bool { branch.withLock { $0?.source != nil } }

    /// Beside another branch, that one's needs count too.
    private var answerToAllocation: GhostPad.Answer {
        hasSource ? .forward : .understands([.video] + delivery.demand.sufficient)
    }

    private func makeHandler() throws(MediaGraphError) {
        let settings = settings.current
        guard !settings.handler.isEmpty else { return }
        guard state.withLock({ $0.attached == nil }) else {
            throw .alreadyInUse(
                .init(name, expected: "one handler", actual: "handler=\(settings.handler) beside one from Swift"))
        }
        let handle = ConsumerHandle(
            try HandlerRegistry.shared.make(MGVideoConsumer.self, settings.handler, options: settings.options))
        if let mode = handle.memoryMode, mode != settings.memoryMode {
            throw .invalidParameter(
                .init(
                    "memory-mode", expected: "\(mode.nick), for handler \(handle.name)",
                    actual: settings.memoryMode.nick))
        }
        state.withLock { $0.named = handle }
    }
}

extension RawDataPipeElement: NodeTraits {
    static var checks: [any DescriptionCheck] { [HandlerFormatCheck(), ResolutionCheck()] }

    static var prerolls: Bool { false }

    /// What `buffer-type` takes.
    static func caps(of element: ParsedElement, _ direction: Pad.Direction) -> Caps? {
        guard direction == .sink else { return nil }
        return switch BufferType(nick: element.value(of: "buffer-type") ?? BufferType.raw.nick) {
        case .raw, .native: BufferType.native.caps
        case .encoded: BufferType.encoded.caps
        case nil: nil
        }
    }
}
