import CGStreamer
import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import Synchronization

/// `videosource`: a live source of raw video that a handler sends.
///
/// The element is live at every pace, so a graph reaches PLAYING before `startSend` is called. A source that isn't live
/// would wait for its first buffer in PAUSED, and so forever.
///
/// The element is a `GstPushSrc` whose queue is the gate itself. It is neither a bin around appsrc nor a subclass of
/// appsrc. Measured with callgrind, such a bin takes 8845 instructions for each frame; plain C with appsrc takes 6002.
/// Of the difference, the ghost pad takes 800, and a second lock, queries of appsrc's level and wake-ups take the rest.
/// A subclass would also take more than this element (`Benchmarks/README.md`). Besides, appsrc reports neither which
/// buffers it dropped nor when its queue has become empty. Exact counters and a status that goes out before PAUSED
/// would need a second queue anyway.
///
/// An EOS event sent to the element ends the stream after the queued frames, as with appsrc. `num-buffers` ends the
/// stream after that number of frames; frames that are still queued are dropped and counted.
final class VideoSourceElement: PushSource, ConfigurableElement, SourceElement, NodeTraits, @unchecked Sendable {
    // `@unchecked Sendable`: constants, state behind locks, and `tagged`, which one thread at a time uses.

    struct Settings: HandlerSettings {
        var handler = ""
        var options = ""
        var pace = Pace.live
        var backPressure = BackPressure.auto
        var maxFrames: Int32 = 2
        /// In nanoseconds; `GST_CLOCK_TIME_NONE` for the pace's default.
        var blockTimeout = UInt64.max
        var stopTimeout: UInt64 = 1_000_000_000
        var rotationTag = false
        var flip = Flip.none
    }

    static let defaultSettings = Settings()
    let settings = SettingsStore(defaultSettings)

    private let lifecycle: SourceLifecycle<VideoSourceHandle>
    private let gate: VideoGate
    /// The orientation of the last image-orientation tag; `nil` if no tags are sent. Set before data flows; afterwards
    /// only the streaming thread uses it.
    private var tagged: VideoOrientation?

    static let log = DebugCategory("videosource", "MediaGraph video source")

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.videoSource, typeName: "GstVideoSource", longName: "Video source",
            classification: "Source/Video",
            summary: "Live source of raw video that a handler sends",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("src", .source, caps: "video/x-raw, format={ \(FrameCaps.formatNames) }")
            ],
            properties: lockedHandlerProperties + [
                .setting(
                    "pace", of: Self.self, \.pace, changes: .untilInitialized,
                    "Whether frames are sent at the clock's pace or as fast as downstream takes them"),
                .setting(
                    "backpressure", of: Self.self, \.backPressure, changes: .untilInitialized,
                    "What happens when frames are sent faster than downstream takes them; auto: drop-old when live, block when fast"
                ),
                .setting(
                    "max-frames", of: Self.self, \.maxFrames, range: .values(1...1000), changes: .untilInitialized,
                    "Maximum number of queued frames; a live source doesn't count frames held back by the graph's latency"
                ),
                .setting(
                    "block-timeout", of: Self.self, \.blockTimeout, changes: .untilInitialized,
                    "Nanoseconds that a sender waits for room in the queue when backpressure is block, before its frame is refused. Default: 100 ms when live, no limit when fast"
                ),
                .setting(
                    "stop-timeout", of: Self.self, \.stopTimeout, changes: .untilInitialized,
                    "Nanoseconds that the node waits for an asynchronous source's task to end when the source is stopped"
                ),
                .setting(
                    "rotation-tag", of: Self.self, \.rotationTag, changes: .untilInitialized,
                    "Send the rotation as an image-orientation tag too, for sinks that don't support the meta"),
                .setting(
                    "flip", of: Self.self, \.flip, changes: .always,
                    "How receivers must flip each frame to honor the mirror mode; applies from the next frame sent"),
                NodeStatistics.property(of: Self.self) { $0.gate.statistics },
            ],
            abiVersion: NodeDefinition.abiVersion)
    }

    private static let vtable = NodeVTable.make { vtable in
        vtable.set_source = { NodeVTable.setHandler($0, $1, $2, VideoSourceElement.attach) }
    }

    required init(instance: ElementInstance) {
        gate = VideoGate(owner: WeakElement(instance), marks: FrameMarks())
        lifecycle = SourceLifecycle(gate)
        super.init(instance: instance)
        NodeVTable.install(Self.vtable.pointer, on: instance)
    }

    /// Attaches a source; `nil` removes the source, also one that `handler` names.
    private func attach(_ abi: MGVideoSource?) throws(MediaGraphError) {
        try lifecycle.attach(
            to: name, isInNull: isInNull, handler: settings.current.handler,
            abi.map { abi in { VideoSourceHandle(abi) } })
        if abi == nil { clearHandlerProperties() }
    }

    func returnSource() { lifecycle.returnSource() }

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
        guard try lifecycle.initialize(settings.gate, downstream: sourcePad.downstreamConstraints) else {
            postWarning(
                .settings, "\(name): there is no source, so nothing will be sent; set handler=… or attach a source")
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
    override func latencyDecided(_ latency: Duration) { gate.latencyDecided(latency) }
    override func downstreamReconfigured() { gate.downstreamReconfigured() }

    override func received(_ structure: Structure) {
        if structure.name == Resolution.demandChanged.name { downstreamReconfigured() }
        lifecycle.received(structure)
    }

    override func endOfStreamRequested() -> Bool {
        gate.endOfStreamRequested()
        return true
    }

    override var latency: (isLive: Bool, minimum: Duration, maximum: Duration?) {
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
                    gate.drop(frame)
                    return .endOfStream
                }
                if segment { pushSegment() }
                if on { pushSticky(StreamStatus.event(on: true)) }
                if tagged != nil { tag(frame) }
                buffer = frame.take()
                return .ok
            case .off(let isRequested): pushSticky(StreamStatus.event(on: false, isRequested: isRequested))
            case .reconfigure: lifecycle.downstreamChanged(sourcePad.downstreamConstraints)
            case .flush: return .flushing
            case .end:
                // Post the error here and return EOS: for an error result, the base class would post an error of its
                // own.
                if case .failure(let error) = gate.ending { postError(.processing, "\(name): \(error)") }
                return .endOfStream
            case .drained: break
            }
        }
    }

    // `num-buffers` is reached: drop the queued frames, but send status off.
    override func lastBufferSent() {
        gate.endOfStreamRequested()
        while true {
            switch gate.next() {
            case .frame(let frame), .announced(let frame, _, _, _): gate.drop(frame)
            case .off: pushSticky(StreamStatus.event(on: false))
            case .reconfigure, .drained: break
            case .flush, .end: return
            }
        }
    }

    /// Sends an image-orientation tag before the frame if the orientation has changed.
    private func tag(_ frame: QueuedFrame) {
        let orientation = VideoOrientation(of: frame.access) ?? .upright
        guard orientation != tagged else { return }
        tagged = orientation
        pushImageOrientation(orientation.tag)
    }

    /// Sends new caps downstream. Returns false if downstream refuses them. The node then posts an error that names
    /// both sides' caps, which the base class's own error doesn't.
    private func announce(_ format: SentFormat) -> Bool {
        guard downstreamAccepts(format.caps) else {
            gate.failed()
            let taken = sourcePad.peerCaps().map { "\($0)" } ?? "nothing"
            postError(
                .notNegotiated, "\(name): downstream doesn't accept the source's format",
                debug: "not-negotiated: the source sends \(format.caps); downstream accepts \(taken)")
            return false
        }
        Self.log.log(.debug, raw: instance.element, "sends \(format.caps)")
        setCaps(format.caps)
        if gate.pace == .live { element.postLatencyChanged() }
        return true
    }
}

extension VideoSourceElement.Settings {
    /// Returns the default `block-timeout` in nanoseconds; `nil` for no limit. A sender at `pace=fast` has nothing else
    /// to do than to wait.
    private static func defaultBlockTimeout(_ pace: Pace) -> UInt64? { pace == .live ? 100_000_000 : nil }

    var gate: VideoGate.Settings {
        VideoGate.Settings(
            pace: pace, policy: backPressure.resolved(isLive: pace == .live), bound: Int(maxFrames),
            blockTimeoutNanoseconds: blockTimeout == .max ? Self.defaultBlockTimeout(pace) : blockTimeout,
            stopTimeout: .nanoseconds(stopTimeout))
    }
}
