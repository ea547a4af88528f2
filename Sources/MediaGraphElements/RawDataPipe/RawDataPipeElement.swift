import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import Synchronization

/// `rawdatapipe`: passes the frames of a stream to a handler, in the format and size that the handler asks for.
///
/// A bin around appsink. Frames are converted with GStreamer's video converter when they are delivered, and not at all
/// if upstream already provides the wanted format. The sink pad's caps list that format first, so that upstream can
/// choose it.
final class RawDataPipeElement: BinElement, ConfigurableElement, @unchecked Sendable {
    // `@unchecked Sendable`: constants, and state behind locks.

    static let defaultSettings = PipeSettings()
    let settings = SettingsStore(defaultSettings)

    private struct State {
        /// Set from Swift; stays for the next run.
        var attached: ConsumerHandle?
        /// Set with `handler=`; made for each run.
        var named: ConsumerHandle?
        var current: ConsumerHandle? { attached ?? named }
    }

    private let state = Mutex(State())
    let delivery: PipeDelivery
    let sink: GhostPad
    let branch = Mutex<RenderBranch?>(nil)
    /// True from the request for `src` until the branch is removed.
    let hasBranch = Atomic<Bool>(false)

    static let log = DebugCategory("rawdatapipe", "MediaGraph raw data pipe")

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.rawDataPipe, typeName: "GstRawDataPipe", longName: "Raw data pipe",
            classification: "Sink/Video",
            summary: "Passes raw video frames to a handler, in the format and size that the handler asks for",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate(
                    "sink", .sink, caps: "\(BufferType.native.caps); \(BufferType.encoded.caps)"),
                PadTemplate("src", .source, .request, caps: "ANY"),
            ],
            properties: lockedHandlerProperties + [
                .setting(
                    "format", of: Self.self, \.format,
                    "Pixel format of the delivered frames; frames in other formats are converted. auto: the handler's first format, or I420 if it supports any (BGRA is then converted to I420, and A420 stays A420 unless frames are turned or mirrored)"
                ),
                .setting(
                    "resolution", of: Self.self, \.resolution,
                    "Maximum height of the delivered frames, before rotation: \(Resolution.expected). Keeps the aspect ratio and never enlarges"
                ),
                .setting(
                    "memory-mode", of: Self.self, \.memoryMode.value, changes: .untilInitialized,
                    "Whether the frames that the handler and delegates retain may be copied"),
                .setting(
                    "backpressure", of: Self.self, \.backPressure, "What happens when the handler is too slow"),
                .setting(
                    "max-frames", of: Self.self, \.maxFrames, range: .values(1...1000),
                    "Maximum number of frames that wait for the handler"),
                .setting("sync", of: Self.self, \.synchronization, "Deliver frames at their time on the clock"),
                .setting("buffer-type", of: Self.self, \.bufferType, "Kind of frames that the handler receives"),
                .setting(
                    "apply-rotation", of: Self.self, \.appliesRotation,
                    "Turn and flip frames upright, as given by their meta or the stream's image-orientation tag; they then report no rotation"
                ),
                .setting(
                    "apply-mirror", of: Self.self, \.appliesMirror,
                    "Deliver frames mirrored: left and right of the picture swapped, as it stands upright"),
                .setting(
                    "engine-render", of: Self.self, \.rendersEngine,
                    "Whether the pad src outputs the frames too; otherwise it outputs GAP events instead"),
                .setting(
                    "src-format", of: Self.self, \.sourceFormat,
                    "Form of the frames that the pad src outputs; as-delivered outputs them without engine-render too"),
                .setting(
                    "on-error", of: Self.self, \.onError,
                    "What happens when the handler or a delegate throws, or a frame can't be delivered: the stream and the other delegates go on unless stop is set"
                ),
                NodeStatistics.property(of: Self.self) { $0.delivery.statistics },
            ],
            messages: [
                StreamStatus.messageDeclaration,
                AlphaChannelMessage.declaration(
                    "The stream's frames start or stop carrying alpha; posted once per change, before the handler gets the first frame after it"
                ),
            ],
            abiVersion: NodeDefinition.abiVersion)
    }

    private static let vtable = NodeVTable.make { vtable in
        vtable.set_consumer = { NodeVTable.setHandler($0, $1, $2, RawDataPipeElement.attach) }
        vtable.subscribe = { element, consumer, resolution, format, error in
            NodeVTable.answer(element, error, as: RawDataPipeElement.self) { (node) throws(MediaGraphError) in
                try node.subscribe(
                    consumer!.pointee, try Resolution(checking: resolution), try PipeFormat(checking: format))
            }
        }
        vtable.unsubscribe = { element, identity, error in
            NodeVTable.answer(element, error, as: RawDataPipeElement.self) { (node) throws(MediaGraphError) in
                try node.delivery.unsubscribe(identity!)
            }
        }
        vtable.set_resolution = { element, identity, resolution, error in
            NodeVTable.answer(element, error, as: RawDataPipeElement.self) { (node) throws(MediaGraphError) in
                let resolution = try Resolution(checking: resolution)
                try node.check(resolution)
                try node.delivery.setResolution(resolution, of: identity!)
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
        // Returns delivered buffers to their pool.
        appSink.setKeepsLastSample(false)
        // Delivers frames at their time. By default, sinks add 20 ms to the latency for their own rendering.
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
            case .streamStart, .endOfStream, .custom: break
            }
            return true
        }
    }

    deinit {
        // Breaks the reference cycle between the appsink and its delegate.
        delivery.close()
    }

    /// Sets a handler from Swift. `nil` removes the handler, also one set with `handler=`.
    private func attach(_ abi: MGVideoConsumer?) throws(MediaGraphError) {
        guard !isRunning else {
            throw .lockedWhileRunning(
                .init(
                    "\(name)'s handler",
                    actual: "can't be attached or detached while the graph runs; stop the graph first"))
        }
        guard let abi else {
            // Released outside the lock: a handler's `deinit` may call anything.
            let replaced = state.withLock { state in
                defer { state = State() }
                return state
            }
            withExtendedLifetime(replaced) {}
            return clearHandlerProperties()
        }
        try check(queues: abi.queues != 0)
        guard settings.current.handler.isEmpty, state.withLock({ $0.current == nil }) else {
            throw .alreadyInUse(.init(name, actual: "already has a handler; remove it first"))
        }
        let handle = ConsumerHandle(abi)
        state.withLock { $0.attached = handle }
    }

    /// Throws if a receiver with or without a queue of its own can't have this pipe's frames.
    private func check(queues: Bool) throws(MediaGraphError) {
        let settings = settings.current
        try settings.memoryMode.check(queues: queues, of: name, sequence: "a sequence of frames")
        guard queues, settings.bufferType != .raw else { return }
        throw .unsupported(
            .init(
                "\(name)'s frames", expected: "buffer-type=raw", actual: "buffer-type=\(settings.bufferType.nick)"))
    }

    /// Throws `invalidParameter` if frames of this `buffer-type` can't be scaled to a delegate's resolution.
    private func check(_ resolution: Resolution) throws(MediaGraphError) {
        let type = settings.current.bufferType
        guard type.allows("resolution") || resolution == .native else {
            throw .invalidParameter(
                .init("resolution", expected: "native with buffer-type=\(type.nick)", actual: resolution.text))
        }
    }

    private func subscribe(
        _ abi: MGVideoConsumer, _ resolution: Resolution, _ format: PipeFormat
    ) throws(MediaGraphError) {
        try check(queues: abi.queues != 0)
        try check(resolution)
        let settings = settings.current
        let type = settings.bufferType
        guard type.allows("format") || format == .auto else {
            throw .invalidParameter(
                .init("format", expected: "auto with buffer-type=\(type.nick)", actual: format.nick))
        }
        if let format = format.format { try settings.checkTurning(format) }
        try delivery.subscribe(abi, resolution, format)
    }

    /// Returns the pipe's format: the `format` property's, or with `auto` the handler's first format, or I420.
    private func format(for consumer: ConsumerHandle?) throws(MediaGraphError) -> VideoFormat {
        let wanted = settings.current.format.format
        let supported = consumer?.formats ?? []
        guard let wanted else { return supported.first ?? .i420 }
        guard supported.isEmpty || supported.contains(wanted) else {
            throw .unsupported(
                .init(
                    "format=\(settings.current.format.nick)",
                    actual: "isn't supported by handler \(consumer?.name ?? ""), which supports "
                        + supported.map(\.gstreamerName).joined(separator: ", ")))
        }
        return wanted
    }

    /// Checks the settings, which may have been set after the receivers were attached. Returns the pipe's format; `nil`
    /// for the stream's own.
    private func resolvedFormat(for consumer: ConsumerHandle?) throws(MediaGraphError) -> VideoFormat? {
        let settings = settings.current
        try check(queues: consumer?.queues == true || delivery.hasQueuingReceiver)
        try settings.checkBufferType()
        let format = try format(for: consumer)
        let subscribed = delivery.subscribedFormats
        if let wrong = subscribed.first(where: { $0 != .auto }), !settings.bufferType.allows("format") {
            throw .invalidParameter(
                .init(
                    "a subscription's format", expected: "auto with buffer-type=\(settings.bufferType.nick)",
                    actual: wrong.nick))
        }
        for format in [format] + subscribed.compactMap(\.format) { try settings.checkTurning(format) }
        return settings.bufferType == .raw || settings.format != .auto ? format : nil
    }

    /// The caps that the sink pad accepts. The delivered format comes first, so that upstream provides it if possible,
    /// followed by everything that can be converted. What is linked to `src` must accept the caps, too, unless they are
    /// converted for it.
    private var acceptedCaps: Caps {
        let own = ownCaps
        guard !convertsSource, let downstream = branch.withLock({ $0?.source?.pad })?.peerCaps() else { return own }
        return own.intersection(downstream)
    }

    private var ownCaps: Caps {
        let settings = settings.current
        switch settings.bufferType {
        case .raw: return FrameCaps.of(formats: wantedFormats(settings)).appending(Self.convertibleCaps)
        case .native:
            if let format = settings.format.format { return BufferType.nativeCaps(deliverableIn: format) }
            let formats = delivery.subscribedFormats.compactMap(\.format)
            let any = BufferType.native.caps
            return formats.isEmpty ? any : BufferType.nativeCaps(of: formats).appending(any)
        case .encoded: return BufferType.encoded.caps
        }
    }

    /// Whether the handler exists that decides on the format with `format=auto`, or none is set.
    var isHandlerKnown: Bool { settings.current.handler.isEmpty || state.withLock { $0.named != nil } }

    /// The format of frames that aren't delivered in a subscription's format.
    var ownFormat: VideoFormat { (try? format(for: state.withLock { $0.current })) ?? .i420 }

    /// The formats that the receivers of raw frames want. The pipe's own format is first, unless each receiver has a
    /// format of its own.
    private func wantedFormats(_ settings: PipeSettings) -> [VideoFormat] {
        let handler = state.withLock { $0.current }
        let subscribed = delivery.subscribedFormats
        var formats = subscribed.compactMap(\.format)
        if handler != nil || settings.format != .auto || formats.count < max(1, subscribed.count) {
            formats.insert(ownFormat, at: 0)
        }
        // A stream without alpha is delivered as I420.
        return formats.flatMap { $0 == .a420 ? [$0, .i420] : [$0] }
    }

    private static let convertibleCaps = BufferType.raw.caps.constant

    private func accepts(_ caps: Caps) -> Bool {
        let accepted = acceptedCaps
        let settings = settings.current
        let isRaw = settings.bufferType == .raw
        if isRaw ? caps.areFrames(in: accepted) : caps.isSubset(of: accepted) {
            delivery.resolveLiveness()
            return true
        }
        postError(
            .notNegotiated, "\(name): the incoming format isn't supported",
            debug:
                "upstream produces \(caps); this pipe accepts \(accepted)\(isRaw ? ", progressive or interleaved" : "")"
        )
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
                let format = try resolvedFormat(for: consumer)
                delivery.start(
                    settings.current, handler: consumer, format: format, convertsSource: convertsSource)
                do throws(MediaGraphError) { try convertSource(for: consumer) } catch {
                    delivery.stop()
                    removeConverter()
                    throw error
                }
                // No preroll, so that a graph reaches PLAYING while a pipe waits for a user who isn't in the room.
                //
                // Pads that are added with the data are the exception. There, another element announces PAUSED, and
                // GStreamer 1.22 may post that message after the PLAYING that the application requested in response,
                // and then loses end-of-stream. A sink that prerolls announces PAUSED itself, while it holds the lock
                // that PLAYING needs.
                //
                // With `src`, the pipe never prerolls: the sink behind `src` would hold back the first buffer.
                delivery.appSink.setPrerolls(!hasSource && sink.pad.isLinkedLater())
                if !settings.current.rendersEngine, !convertsSource { branch.withLock { $0?.hideFrames() } }
                Self.log.log(
                    .info, raw: instance.element,
                    "handler \(consumer?.name ?? "none"), format \(format?.gstreamerName ?? "of the stream"), \(settings.current.resolution.text)"
                )
            } catch {
                postError(.settings, "\(name): \(error)")
                return .failure
            }
        case .pausedToPlaying, .none(.playing): delivery.hold(.paused)
        // A sink whose pending state is PLAYING completes that change by itself, with its first frame. GStreamer 1.22
        // may take this for the end of the bin's last change, to PAUSED. A bin that reports PAUSED may thus have a sink
        // that plays.
        case .none(.paused): delivery.hold(.paused)
        case .playingToPaused:
            delivery.hold(.paused)
            // No preroll: the frame that the sink would hold in PAUSED waits in the delivery with the others.
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
            removeConverter()
            if !hasSource { removeBranch() }
        case .readyToPaused where result == .failure:
            delivery.stop()
            removeConverter()
        case .readyToPaused: delivery.started()
        // Released outside the lock: a handler's `deinit` may call anything.
        case .readyToNull: _ = state.withLock { $0.named.take() }
        default: break
        }
        return result
    }

    // MARK: The pad `src`, on request

    override func requestPad(_ template: String, name: String?) -> GhostPad? {
        guard !isRunning else {
            postWarning(
                .settings, "\(self.name): src can't be added while the graph runs; link it before the graph starts")
            return nil
        }
        guard !hasBranch.exchange(true, ordering: .acquiringAndReleasing) else { return nil }
        // Created outside the lock: a `pad-added` handler may query the caps of the sink pad.
        let made = RenderBranch(self, from: sink, to: delivery.appSink)
        made?.source?.onQuery { [instance] query in
            guard case .caps = query else { return .forward }
            return ElementClass.implementation(of: instance.element, as: Self.self).answerToSourceCaps
        }
        branch.withLock { $0 = made }
        if made == nil { hasBranch.store(false, ordering: .releasing) }
        return made?.source
    }

    override func releasePad(_ pad: GhostPad) {
        guard isRunning else { return removeBranch() }
        guard let source = branch.withLock({ $0?.takeSource() }) else { return }
        removeWhileRunning(source)
    }

    private func makeHandler() throws(MediaGraphError) {
        let settings = settings.current
        guard !settings.handler.isEmpty else { return }
        guard state.withLock({ $0.attached == nil }) else {
            throw .alreadyInUse(
                .init(
                    name,
                    actual: "has a handler attached from Swift; remove it, or leave out handler=\(settings.handler)"))
        }
        let handle = ConsumerHandle(
            try HandlerRegistry.shared.make(MGVideoConsumer.self, settings.handler, options: settings.options))
        state.withLock { $0.named = handle }
    }
}

extension RawDataPipeElement: NodeTraits {
    static var checks: [any DescriptionCheck] { [HandlerFormatCheck(), PipeConversionCheck(), ResolutionCheck()] }

    static var prerolls: Bool { false }

    /// Returns the sink pad's caps for the element's `buffer-type` and `format`.
    static func caps(of element: ParsedElement, _ direction: Pad.Direction) -> Caps? {
        guard direction == .sink else { return nil }
        switch BufferType(nick: element.value(of: "buffer-type") ?? BufferType.raw.nick) {
        case .native:
            let format = element.value(of: "format").flatMap(PipeFormat.init(nick:))?.format
            return format.map(BufferType.nativeCaps(deliverableIn:)) ?? BufferType.native.caps
        case .raw: return BufferType.raw.caps
        case .encoded: return BufferType.encoded.caps
        case nil: return nil
        }
    }
}
