import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import Synchronization

/// `videosource`: raw video from a handler, as a live source.
///
/// It is live at every pace: a graph that waits for `startSend` still reaches PLAYING, where a source that isn't live would
/// wait for its first buffer and so for ever.
///
/// A `GstPushSrc` whose queue is the gate itself, neither a bin around appsrc nor a subclass of it. Measured with callgrind, that
/// bin took 8845 instructions a frame where plain C with appsrc takes 6002: 800 for the ghost pad, the rest for a second lock,
/// looks at appsrc's level and wake-ups. A subclass would take more than this node too (`Benchmarks/README.md`). And appsrc knows
/// neither what it dropped nor when its queue has run dry, so exact counters and a status that goes out before PAUSED need a queue
/// of one's own anyway.
///
/// An EOS event sent to the element ends the stream behind what is queued, as appsrc does; `num-buffers` ends it
/// behind so many: what is queued is lost, and counted.
final class VideoSourceElement: PushSource, ConfigurableElement, NodeTraits, @unchecked Sendable {
    // `@unchecked Sendable`: constants, and state behind locks.

    struct Settings: HandlerSettings {
        var handler = ""
        var options = ""
        var pace = Pace.live
        var backPressure = BackPressure.auto
        var maxFrames: Int32 = 2
        /// `GST_CLOCK_TIME_NONE`: as the pace is.
        var blockTimeout = UInt64.max
        var stopTimeout: UInt64 = 1_000_000_000
        var rotationTag = false
        var flip = Flip.none
    }

    static let defaultSettings = Settings()
    let settings = SettingsStore(defaultSettings)

    private let lifecycle: SourceLifecycle<VideoSourceHandle>
    private let gate: VideoGate
    /// The rotation that downstream was told by a tag; `nil` where none are sent. Set before data flows, then the streaming
    /// thread's.
    private var tagged: VideoOrientation?

    static let log = DebugCategory("videosource", "MediaGraph video source")

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.videoSource, typeName: "GstVideoSource", longName: "Video source",
            classification: "Source/Video",
            summary: "Raw video that a handler sends, as a live source",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("src", .source, caps: "video/x-raw, format={ \(FrameCaps.formatNames) }")
            ],
            properties: [
                .setting(
                    "handler", of: Self.self, \.handler, changes: .untilInitialized, NodeDefinition.handlerBlurb),
                .setting(
                    "options", of: Self.self, \.options, changes: .untilInitialized, NodeDefinition.optionsBlurb),
                .setting(
                    "pace", of: Self.self, \.pace, changes: .untilInitialized,
                    "Whether frames come at the clock's pace or as fast as they are taken"),
                .setting(
                    "backpressure", of: Self.self, \.backPressure, changes: .untilInitialized,
                    "What happens when frames are sent faster than they are taken; auto: drop-old when live, block when fast"
                ),
                .setting(
                    "max-frames", of: Self.self, \.maxFrames, range: .values(1...1000), changes: .untilInitialized,
                    "Frames that the source queues; a live source doesn't count frames held back by the graph's latency"
                ),
                .setting(
                    "block-timeout", of: Self.self, \.blockTimeout, changes: .untilInitialized,
                    "Nanoseconds that a sender waits for room where backpressure blocks; then its frame is refused. By default 100 ms when live, and as long as it takes when fast"
                ),
                .setting(
                    "stop-timeout", of: Self.self, \.stopTimeout, changes: .untilInitialized,
                    "Nanoseconds that a source which is a task may take to end when it is stopped"),
                .setting(
                    "rotation-tag", of: Self.self, \.rotationTag, changes: .untilInitialized,
                    "Send the rotation as an image-orientation tag too, for sinks that know nothing of the meta"),
                .setting(
                    "flip", of: Self.self, \.flip, changes: .always,
                    "What each frame says is to be flipped in it to honour the mirror mode, from the next one sent on"),
                NodeStatistics.property(of: Self.self) { $0.gate.statistics },
            ],
            abiVersion: NodeDefinition.abiVersion)
    }

    private static let vtable = NodeVTable.make { vtable in
        vtable.set_source = { element, source, error in
            NodeVTable.answer(element, error, as: VideoSourceElement.self) { (node) throws(MediaGraphError) in
                try node.attach(source?.pointee)
            }
        }
    }

    required init(instance: ElementInstance) {
        gate = VideoGate(owner: WeakElement(instance), marks: FrameMarks())
        lifecycle = SourceLifecycle(gate)
        super.init(instance: instance)
        NodeVTable.install(Self.vtable.pointer, on: instance)
    }

    /// `nil` takes the source away, also the one that `handler` names.
    private func attach(_ abi: MGVideoSource?) throws(MediaGraphError) {
        try lifecycle.attach(
            to: name, isInNull: isInNull, handler: settings.current.handler,
            abi.map { abi in { VideoSourceHandle(abi) } })
        if abi == nil { clearHandlerProperties() }
    }

    func validate(_ proposed: Settings, changing property: String) throws(PropertyRefused) {
        if property == "handler" { try lifecycle.validate(handler: proposed.handler) }
    }

    func settingsDidChange(_ property: String) {
        if property == "flip" { gate.marks.flip.store(settings.current.flip.rawValue, ordering: .relaxed) }
    }

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
        try lifecycle.setNamed(settings.handler, of: name) { () throws(MediaGraphError) in
            VideoSourceHandle(
                try HandlerRegistry.shared.make(MGVideoSource.self, settings.handler, options: settings.options))
        }
        tagged = settings.rotationTag ? .upright : nil
        guard try lifecycle.initialize(settings.gate, downstream: sourcePad.peerCaps()) else {
            postWarning(.settings, "\(name): nothing will be sent: give it handler=… or attach a source")
            return
        }
    }

    // MARK: Data flow

    override func start() -> Bool {
        gate.streamBegins()
        return true
    }

    override func unlock() { gate.flush() }
    override func unlockStop() { gate.resume() }
    override func latencyDecided(_ latency: ClockTime) { gate.latencyDecided(latency) }
    override func downstreamReconfigured() { gate.downstreamReconfigured() }

    override func endOfStreamRequested() -> Bool {
        gate.endOfStreamRequested()
        return true
    }

    override var latency: (isLive: Bool, minimum: ClockTime, maximum: ClockTime?) {
        gate.pace == .live ? (true, .zero, gate.maximumLatency) : (false, .zero, nil)
    }

    override func create(_ buffer: inout Buffer?) -> FlowReturn {
        while true {
            switch gate.next() {
            case .frame(let frame):
                if tagged != nil { tag(frame) }
                buffer = frame.take()
                return .ok
            case .announced(let frame, let caps, let segment, let on):
                if caps, !announce(frame.format) {
                    frame.discard()
                    return .endOfStream
                }
                if segment { pushSegment() }
                if on { pushSticky(StreamStatus.event(on: true)) }
                if tagged != nil { tag(frame) }
                buffer = frame.take()
                return .ok
            case .off: pushSticky(StreamStatus.event(on: false))
            case .reconfigure: lifecycle.downstreamChanged(sourcePad.peerCaps())
            case .flush: return .flushing
            case .end:
                // EOS behind an error, as the base class does itself after one, but without an error of its own.
                if case .failure(let error) = gate.ending { postError(.processing, "\(name): \(error)") }
                return .endOfStream
            case .drained: break
            }
        }
    }

    override func lastBufferSent() {
        gate.endOfStreamRequested()
        while true {
            switch gate.next() {
            case .frame(let frame), .announced(let frame, _, _, _): gate.lose(frame)
            case .off: pushSticky(StreamStatus.event(on: false))
            case .reconfigure, .drained: break
            case .flush, .end: return
            }
        }
    }

    /// The tag goes out when the rotation is another than the last one's, ahead of the frame.
    private func tag(_ frame: QueuedFrame) {
        let orientation = VideoOrientation(of: frame.access) ?? .upright
        guard orientation != tagged else { return }
        tagged = orientation
        pushImageOrientation(orientation.tag)
    }

    /// New caps downstream. False when they are refused: that is on the bus then, with both sides, which the base class's own
    /// error doesn't name.
    private func announce(_ format: SentFormat) -> Bool {
        guard downstreamAccepts(format.caps) else {
            gate.failed()
            let taken = sourcePad.peerCaps().map { "\($0)" } ?? "nothing"
            postError(
                .notNegotiated, "\(name): downstream doesn't accept the source's format",
                debug: "not-negotiated: the source sends \(format.caps); downstream takes \(taken)")
            return false
        }
        Self.log.log(.debug, raw: instance.element, "sends \(format.caps)")
        setCaps(format.caps)
        if gate.pace == .live { element.postLatencyChanged() }
        return true
    }
}

extension VideoSourceElement.Settings {
    /// Who sends as fast as frames are taken has nothing better to do than to wait.
    private static func patience(_ pace: Pace) -> ClockTime? { pace == .live ? .milliseconds(100) : nil }

    var gate: VideoGate.Settings {
        VideoGate.Settings(
            pace: pace, policy: backPressure.resolved(isLive: pace == .live), bound: Int(maxFrames),
            blockTimeout: blockTimeout == .max ? Self.patience(pace) : ClockTime(nanoseconds: blockTimeout),
            stopTimeout: ClockTime(nanoseconds: stopTimeout))
    }
}
