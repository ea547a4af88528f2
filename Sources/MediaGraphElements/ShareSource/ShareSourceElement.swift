import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphDescription

/// `sharesource`: what a user shares, picture and sound, as one live source with two streams.
///
/// ```
/// videosource ─▶ src
/// virtualmic  ─▶ audio   (on request)
/// ```
/// A bin around the two sources there are, each with its gate, queue and timestamps: what a share adds is that both go by one
/// clock and base time, begin and pause together, and that either may be missing.
final class ShareSourceElement: BinElement, ConfigurableElement, NodeTraits, @unchecked Sendable {
    // `@unchecked Sendable`: constants, each `Sendable`.

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
            summary: "What a user shares: raw video and sound that handlers send, as a live source",
            author: NodeDefinition.author,
            padTemplates: [
                PadTemplate("src", .source, caps: "video/x-raw, format={ \(FrameCaps.formatNames) }"),
                PadTemplate("audio", .source, .request, caps: AudioSender.caps(stereo: true)),
            ],
            properties: [
                .child(
                    "handler", of: Self.self, default: "", changes: .untilInitialized,
                    "Name of the picture's handler, one of videosource's; `mediagraph inspect` lists those that there are"
                ) { ($0.video.source, "handler") },
                .child(
                    "options", of: Self.self, default: "", changes: .untilInitialized, NodeDefinition.optionsBlurb
                ) { ($0.video.source, "options") },
                .child(
                    "audio-handler", of: Self.self, default: "", changes: .untilInitialized,
                    "Name of the sound's handler, one of virtualmic's"
                ) { ($0.audio.source, "handler") },
                .child(
                    "audio-options", of: Self.self, default: "", changes: .untilInitialized,
                    "The sound's handler's options, as options"
                ) { ($0.audio.source, "options") },
                .setting(
                    "pace", of: Self.self, \.pace, changes: .untilInitialized,
                    "Whether frames and sound go out at the clock's pace or as fast as they are taken"),
                .setting(
                    "paused", of: Self.self, \.isPaused, changes: .always,
                    "Whether the share is paused: its sources are stopped, and downstream is told that its streams are off"
                ),
                NodeStatistics.property("stats", of: Self.self) { $0.counted(by: $0.video) },
                NodeStatistics.property("audio-stats", of: Self.self) { $0.counted(by: $0.audio) },
            ],
            abiVersion: NodeDefinition.abiVersion)
    }

    override class var speaksForChildren: Bool { true }
    override class var hearsSentEvents: Bool { true }

    override func endOfStreamRequested() -> Bool {
        for stream in [video, audio] { stream.endIfIdle(isPaused: settings.current.isPaused) }
        return false
    }

    private static let vtable = NodeVTable.make { vtable in
        vtable.set_source = { element, source, error in
            NodeVTable.answer(element, error, as: ShareSourceElement.self) { (node) throws(MediaGraphError) in
                try node.attach(source != nil, to: node.video) { (child) throws(MediaGraphError) in
                    try NodeVTable.set(source, on: child)
                }
            }
        }
        vtable.set_audio_source = { element, source, error in
            NodeVTable.answer(element, error, as: ShareSourceElement.self) { (node) throws(MediaGraphError) in
                try node.attach(source != nil, to: node.audio) { (child) throws(MediaGraphError) in
                    try NodeVTable.set(source, on: child)
                }
            }
        }
    }

    required init(instance: ElementInstance) {
        video = ShareStream(VideoSourceElement.self, "share_video", in: instance)
        audio = ShareStream(VirtualMicElement.self, "share_audio", in: instance)
        try? audio.source.setProperty("stereo", to: true)
        states = ShareStates([video, audio])
        super.init(instance: instance)
        video.setPad(addGhostPad("src", target: video.sourcePad))
        NodeVTable.install(Self.vtable.pointer, on: instance)
    }

    /// At any time: while the node runs, a source that is set begins to send, and one that is taken away has stopped.
    private func attach(
        _ isThere: Bool, to stream: ShareStream, _ set: (Element) throws(MediaGraphError) -> Void
    ) throws(MediaGraphError) {
        // Asked before the one that is there is stopped for it.
        guard !isThere || !stream.hasSource else {
            throw .alreadyInUse(.init("\(name)'s share", expected: "one source", actual: "a second"))
        }
        try states.whileIdle(stream) { () throws(MediaGraphError) in
            try set(stream.source)
            stream.attached(isThere)
        }
        if isThere, isRunning { warnOfLoss() }
    }

    private func counted(by stream: ShareStream) -> Structure {
        (try? stream.source.property("stats", as: Structure.self)) ?? NodeStatistics.nothing
    }

    func settingsDidChange(_ property: String) {
        switch property {
        case "paused": states.pause { [settings] in settings.current.isPaused }
        default: for stream in [video, audio] { try? stream.source.setProperty(property, to: settings.current.pace) }
        }
    }

    // MARK: The sound's pad

    override func requestPad(_ template: String, name: String?) -> GhostPad? {
        guard !isRunning else {
            postWarning(.settings, "\(self.name): its audio must be linked before it runs")
            return nil
        }
        guard element.staticPad("audio") == nil else {
            postWarning(.settings, "\(self.name) has one audio, which is taken: put a tee behind it")
            return nil
        }
        let pad = addGhostPad("audio", target: audio.sourcePad)
        audio.setPad(pad)
        return pad
    }

    override func releasePad(_ pad: GhostPad) {
        audio.setPad(nil)
        try? states.whileIdle(audio) {}
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

    /// The bin first: it gives its children clock and base time.
    private func follow(_ change: StateChange, up state: State) -> StateChangeResult {
        let result = super.changeState(change)
        guard result != .failure else { return result }
        if state == .ready { warnOfLoss() }
        guard states.follow(state) else {
            // As far as the node came, which stays there.
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

    /// The bin's own goes by its children, which weren't there yet: with NO_PREROLL for PLAYING the pipeline would leave sinks
    /// that wait for their first buffer in PAUSED.
    private func outcome(_ state: State) -> StateChangeResult { state == .paused ? .noPreroll : .success }

    private func warnOfLoss() {
        for (stream, pad) in [(video, "src"), (audio, "audio")] where stream.isLost {
            postWarning(.settings, "\(name): its \(pad) isn't linked, so its source isn't started: \(name).\(pad) ! …")
        }
    }
}
