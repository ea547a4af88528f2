import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// `sharesource`: a live source of the video and sound that a user shares, with one stream for each.
///
/// ```
/// videosource ─▶ src
/// virtualmic  ─▶ audio   (on request)
/// ```
/// The element is a bin around a `videosource` and a `virtualmic`, each with its own gate, queue and timestamps. The
/// bin makes both streams use one clock and base time, and begin and pause together. Either stream may be missing.
final class ShareSourceElement: BinElement, ConfigurableElement, NodeTraits, @unchecked Sendable {
    // `@unchecked Sendable`: all properties are `Sendable` constants.

    struct Settings: Sendable {
        var pace = Pace.live
        var isPaused = false
    }

    static let defaultSettings = Settings()
    let settings = SettingsStore(defaultSettings)

    private let video: ShareStream
    private let audio: ShareStream
    private let states: ShareStates

    static let log = DebugCategory("sharesource", "MediaGraph share source")

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.shareSource, typeName: "GstShareSource", longName: "Share source",
            classification: "Source/Video/Audio",
            summary: "Live source of the raw video and sound that a user shares, sent by handlers",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("src", .source, caps: "video/x-raw, format={ \(FrameCaps.formatNames) }"),
                PadTemplate("audio", .source, .request, caps: AudioSender.caps(stereo: true)),
            ],
            properties: [
                .child(
                    "handler", of: Self.self, default: "", changes: .untilInitialized,
                    "Name of the video handler, one of videosource's; `mediagraph inspect` lists the available handlers"
                ) { ($0.video.source, "handler") },
                .child(
                    "options", of: Self.self, default: "", changes: .untilInitialized, NodeDefinition.optionsBlurb
                ) { ($0.video.source, "options") },
                .child(
                    "audio-handler", of: Self.self, default: "", changes: .untilInitialized,
                    "Name of the audio handler, one of virtualmic's"
                ) { ($0.audio.source, "handler") },
                .child(
                    "audio-options", of: Self.self, default: "", changes: .untilInitialized,
                    "Options of the audio handler, in the syntax of options"
                ) { ($0.audio.source, "options") },
                .setting(
                    "pace", of: Self.self, \.pace, changes: .untilInitialized,
                    "Whether frames and sound are sent at the clock's pace or as fast as downstream takes them"),
                .setting(
                    "paused", of: Self.self, \.isPaused, changes: .always,
                    "Whether the share is paused: its sources are stopped, and its streams' status is off"
                ),
                NodeStatistics.property("stats", of: Self.self) { $0.counted(by: $0.video) },
                NodeStatistics.property("audio-stats", of: Self.self) { $0.counted(by: $0.audio) },
            ],
            abiVersion: NodeDefinition.abiVersion)
    }

    override class var ownsChildErrors: Bool { true }
    override class var handlesSentEvents: Bool { true }

    // A stream that sends nothing must end too: the graph waits for its sink.
    override func endOfStreamRequested() -> Bool {
        for stream in [video, audio] { stream.endIfIdle(isPaused: settings.current.isPaused) }
        return false
    }

    private static let vtable = NodeVTable.make { vtable in
        vtable.set_source = { element, source, error in
            NodeVTable.answer(element, error, as: ShareSourceElement.self) { (node) throws(MediaGraphError) in
                try node.attach(source, to: node.video)
            }
        }
        vtable.set_audio_source = { element, source, error in
            NodeVTable.answer(element, error, as: ShareSourceElement.self) { (node) throws(MediaGraphError) in
                try node.attach(source, to: node.audio)
            }
        }
    }

    required init(instance: ElementInstance) {
        video = ShareStream(VideoSourceElement.self, "share_video", in: instance)
        audio = ShareStream(VirtualMicElement.self, "share_audio", in: instance)
        audio.source.configure("stereo", to: true)
        states = ShareStates([video, audio])
        super.init(instance: instance)
        video.setPad(addGhostPad("src", target: video.sourcePad))
        NodeVTable.install(Self.vtable.pointer, on: instance)
    }

    /// Attaches a source to a stream, or detaches it with `nil`, in any state. While the node runs, an attached source
    /// begins to send, and a detached source has been stopped when this returns.
    private func attach<Source: HandlerStructure>(
        _ source: UnsafePointer<Source>?, to stream: ShareStream
    ) throws(MediaGraphError) {
        // Check first, because `whileIdle` would stop the current source.
        guard source == nil || !stream.hasSource else {
            throw .alreadyInUse(.init(name, actual: "already has a source for this stream; remove it first"))
        }
        let restarts = try states.whileIdle(stream, undo: stream.returnSource) { () throws(MediaGraphError) in
            try NodeVTable.set(source, on: stream.source)
            stream.attached(source != nil)
        }
        guard restarts else {
            throw .processingFailed(.init("\(name)'s source", actual: "didn't start; the element's error says why"))
        }
        if source != nil, isRunning { warnIfUnlinked() }
    }

    /// Returns the counters of the source inside the stream.
    private func counted(by stream: ShareStream) -> Structure {
        (try? stream.source.property("stats", as: Structure.self)) ?? NodeStatistics.nothing
    }

    func settingsDidChange(_ property: String) {
        switch property {
        case "paused": states.pause { [settings] in settings.current.isPaused }
        default:
            for stream in [video, audio] {
                // Refused if another thread has just left NULL.
                do { try stream.source.setProperty(property, to: settings.current.pace) } catch {
                    postWarning(.settings, "\(error)")
                }
            }
        }
    }

    // MARK: The audio pad

    override func requestPad(_ template: String, name: String?) -> GhostPad? {
        guard !isRunning else {
            postWarning(
                .settings, "\(self.name): audio can't be added while the graph runs; link it before the graph starts")
            return nil
        }
        guard element.staticPad("audio") == nil else {
            postWarning(.settings, "\(self.name): audio is already linked; put a tee after it to use it twice")
            return nil
        }
        let pad = addGhostPad("audio", target: audio.sourcePad)
        audio.setPad(pad)
        return pad
    }

    override func releasePad(_ pad: GhostPad) {
        audio.setPad(nil)
        do { _ = try states.whileIdle(audio) {} } catch { postWarning(.settings, "\(name): \(error)") }
        remove(pad)
    }

    // MARK: States

    override func changeState(_ change: StateChange) -> StateChangeResult {
        switch change {
        case .nullToReady: follow(change, up: .ready)
        case .readyToPaused: follow(change, up: .paused)
        case .pausedToPlaying: follow(change, up: .playing)
        case .playingToPaused: follow(change, down: .paused)
        case .pausedToReady: follow(change, down: .ready)
        case .readyToNull: follow(change, down: .null)
        case .none: super.changeState(change)
        }
    }

    /// The bin changes its state first, because it gives its children the clock and the base time.
    private func follow(_ change: StateChange, up state: State) -> StateChangeResult {
        let result = super.changeState(change)
        guard result != .failure else { return result }
        if state == .ready { warnIfUnlinked() }
        guard states.follow(state) else {
            // The node stays in the previous state, so the streams go back to that state.
            _ = states.follow(State(rawValue: state.rawValue - 1)!)
            return .failure
        }
        return outcome(state)
    }

    private func follow(_ change: StateChange, down state: State) -> StateChangeResult {
        _ = states.follow(state)
        let result = super.changeState(change)
        return result == .failure ? result : outcome(state)
    }

    /// Returns the result of a state change. The bin's own result can't be used, because it depends on the children,
    /// which hadn't changed their states yet. If a change to PLAYING returned NO_PREROLL, sinks that still wait for
    /// their first buffer would stay in PAUSED.
    private func outcome(_ state: State) -> StateChangeResult { state == .paused ? .noPreroll : .success }

    private func warnIfUnlinked() {
        for (stream, pad) in [(video, "src"), (audio, "audio")] where stream.isUnlinkedSource {
            postWarning(
                .settings,
                "\(name): the \(pad) pad isn't linked, so its source isn't started; link it with \(name).\(pad) ! …")
        }
    }
}
