import Foundation
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphElements
import Synchronization

/// `mediasession`: one user's place in a room, with a pad for each stream that goes in or comes out.
///
/// A bin: an appsink behind each pad that sends, a live source behind each that reads. Live as a whole, so that a graph
/// reaches PLAYING whether or not anybody else is there.
final class MediaSessionElement: BinElement, ConfigurableElement, @unchecked Sendable {
    // `@unchecked Sendable`: constants, and state behind locks.

    struct Settings: Sendable {
        var room = "default"
        var user = ""
        var transport = RoomTransportKind.defaultName
        var joins = true
        var mirror = MirrorMode.previewOnly
        var role = SessionRole.participant
        var streamsRawData = false

        /// Why the user may not have the alpha channel; `nil` when that is permitted.
        var alphaRefusal: String? {
            guard role == .host else { return "the session's user must be its host (role=host)" }
            guard streamsRawData else { return "the session must be permitted to stream raw data (raw-streaming=true)" }
            return nil
        }
    }

    static let defaultSettings = Settings()
    let settings = SettingsStore(defaultSettings)

    private struct Output: Sendable {
        let key: OutputKey
        let pad: GhostPad
        let element: Element
        let reader: StreamReader
        var stream: RoomStream?

        func join() {
            guard let stream else { return }
            element.staticPad("src")?.setStreamID(stream.id)
            reader.statistics.reset()
            stream.add(reader)
        }
    }

    private struct Input: Sendable {
        let pad: GhostPad
        let publisher: StreamPublisher
    }

    private struct State: Sendable {
        var inputs: [Input] = []
        var outputs: [Output] = []
        var membership: Membership?
        /// `StreamReader.latencyChanges`, as they were when latency was last decided.
        var latencyChanges = 0
        /// What the user's own cameras give, while data flows: in the room or not.
        var previews: [PublishChannel: RoomStream] = [:]

        /// `nil` for what there is in a room only, while the user isn't in one.
        func stream(_ key: OutputKey) -> RoomStream? {
            switch key {
            case .preview(let channel): previews[channel]
            case .of(let key): membership?.stream(key)
            }
        }

        /// The outputs that some streams have, which are there from now on.
        mutating func readBy(_ isMeant: (OutputKey) -> Bool) -> [Output] {
            for index in outputs.indices where isMeant(outputs[index].key) {
                outputs[index].stream = stream(outputs[index].key)
            }
            return outputs.filter { isMeant($0.key) }
        }
    }

    private let state = Mutex(State())

    static let log = DebugCategory("mediasession", "MediaGraph media session")

    private static let videoCaps = "\(BufferType.native.caps); \(BufferType.encoded.caps)"
    private static let soundCaps = "audio/x-raw"

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.mediaSession, typeName: "GstMediaSession", longName: "Media session",
            classification: "Source/Sink/Network",
            summary: """
                A user's place in a room: sends camera, microphone and share, and reads everybody else's. In the name of a \
                pad that reads, such as video_bob, a user's letters, digits and - are as they are, and other bytes are _XX, \
                in hexadecimal: video_J_C3_BCrgen
                """,
            author: NodeDefinition.author,
            padTemplates: StreamKind.allCases.map {
                PadTemplate($0.inputPad, .sink, .request, caps: $0.isSound ? soundCaps : videoCaps)
            } + PublishChannel.allCases.map { PadTemplate($0.previewPad, .source, .request, caps: videoCaps) }
                + StreamKind.allCases.map {
                    PadTemplate("\($0.outputPrefix)%s", .source, .request, caps: $0.isSound ? soundCaps : videoCaps)
                },
            properties: [
                .setting("room", of: Self.self, \.room, "Name of the room; sessions with the same room name share it"),
                .setting(
                    "user", of: Self.self, \.user, "The user's name in the room; if empty, the element's name"),
                .setting(
                    "transport", of: Self.self, \.transport,
                    "Transport for the streams between users. "
                        + RoomTransportKind.all.map { "\($0.name): \($0.summary)" }.joined(separator: ". ")),
                .setting(
                    "join", of: Self.self, \.joins, changes: .always,
                    """
                    Join the room when the graph runs. While false, only preview works, and shows camera. Setting it to true \
                    during the run joins the room. The user leaves when the run ends
                    """),
                .setting(
                    "mirror", of: Self.self, \.mirror, changes: .always,
                    "Which camera frames are marked to be flipped horizontally by the renderer"),
                .setting("role", of: Self.self, \.role, "What the user may do in the room"),
                .setting(
                    "raw-streaming", of: Self.self, \.streamsRawData,
                    """
                    Whether the user may stream raw data; a host needs this to enable an alphachannel before camera
                    """),
                .readOnly(
                    "stats", of: MediaSessionElement.self, default: NodeStatistics.nothing,
                    """
                    What the session has counted since it was joined: frames (uint64, buffers that its user has sent), \
                    dropped (uint64, buffers that a reader was too slow for: behind one of this session's pads, or of \
                    its user's streams elsewhere; and those of a share while another was on)
                    """
                ) { $0.statistics },
            ],
            messages: SessionMessage.declarations,
            abiVersion: NodeDefinition.abiVersion)
    }

    private var user: String {
        let user = settings.current.user
        return (user.isEmpty ? name : user).precomposedStringWithCanonicalMapping
    }

    private var room: Room {
        let settings = settings.current
        guard let transport = RoomTransportKind.named(settings.transport) else {
            preconditionFailure("`validate` lets only registered transports through")
        }
        return Room.named(settings.room.precomposedStringWithCanonicalMapping, over: transport)
    }

    func validate(_ proposed: Settings, changing property: String) throws(PropertyRefused) {
        let refusal: String? =
            switch property {
            case "room": SessionName.requirement(violatedBy: proposed.room)
            case "user": proposed.user.isEmpty ? nil : SessionName.requirement(violatedBy: proposed.user)
            case "transport": RoomTransportKind.requirement(violatedBy: proposed.transport)
            default: nil
            }
        if let refusal { throw PropertyRefused("expected \(refusal)") }
    }

    func couple(_ proposed: inout Settings, changing property: String) throws(PropertyRefused) -> CoupledChange? {
        try validate(proposed, changing: property)
        if property == "join" { try changeWhileRunning(proposed.joins) }
        return nil
    }

    /// Called again where another thread has changed a property meanwhile: by then the user is in the room.
    private func changeWhileRunning(_ joins: Bool) throws(PropertyRefused) {
        let outcome = whileStateStands { () -> Result<Void, MediaGraphError> in
            guard isRunning, joins != (state.withLock { $0.membership } != nil) else { return .success(()) }
            guard joins else {
                return .failure(
                    .wrongUsage(.init("leaving the room", actual: "not possible while the graph runs; stop the graph")))
            }
            return Result { () throws(MediaGraphError) in try join() }
        }
        guard let outcome else { throw PropertyRefused("the session is changing state; try again afterwards") }
        do throws(MediaGraphError) { try outcome.get() } catch { throw PropertyRefused("\(error)") }
    }

    func settingsDidChange(_ property: String) {
        guard property == "mirror" else { return }
        for input in state.withLock({ $0.inputs }) { input.publisher.mirrors(settings.current.mirror) }
    }

    override func changeState(_ change: StateChange) -> StateChangeResult {
        if case .readyToPaused = change {
            open()
            do throws(MediaGraphError) { if settings.current.joins { try join() } } catch {
                close()
                postError(.settings, "\(name): \(error)", details: error.details)
                return .failure
            }
        }
        if case .pausedToPlaying = change {
            for input in state.withLock({ $0.inputs }) { input.publisher.timingMayHaveChanged() }
        }
        let result = super.changeState(change)
        switch change {
        case .readyToPaused where result == .failure: close()
        case .pausedToReady: close()
        // Also without a pad that reads: whoever waits in the graph for somebody else mustn't keep it from PLAYING.
        case .readyToPaused, .playingToPaused: return result == .failure ? result : .noPreroll
        default: break
        }
        return result
    }

    override class var speaksForChildren: Bool { true }
    override class var hearsSentEvents: Bool { true }

    /// What comes of streams that are read isn't told on to the others: two users who show each other would raise it for ever.
    override func latencyDecided() {
        let changes = StreamReader.latencyChanges.count(around: element)
        let isOfReaders = state.withLock { state in
            defer { state.latencyChanges = changes }
            return changes != state.latencyChanges
        }
        guard !isOfReaders else { return }
        for input in state.withLock({ $0.inputs }) { input.publisher.timingMayHaveChanged() }
    }

    private var statistics: Structure {
        let (inputs, outputs) = state.withLock { ($0.inputs, $0.outputs) }
        let sent = inputs.reduce(0) { $0 + $1.publisher.statistics.frames.load(ordering: .relaxed) }
        let lost =
            inputs.reduce(0) { $0 + $1.publisher.losses }
            + outputs.reduce(0) { $0 + $1.reader.statistics.dropped.load(ordering: .relaxed) }
        return Structure(NodeStatistics.name, [("frames", sent), ("dropped", lost)])
    }

    // MARK: The room

    /// Before data flows: the preview, which needs no room.
    private func open() {
        let (user, room) = (user, settings.current.room)
        let (inputs, outputs, previews) = state.withLock { state in
            for channel in PublishChannel.allCases {
                state.previews[channel] = RoomStream(StreamKey(user: user, kind: channel.camera), room: room)
            }
            return (state.inputs, state.readBy(\.isPreview), state.previews)
        }
        for output in outputs { output.join() }
        for (channel, preview) in previews {
            inputs.first { $0.publisher.kind == channel.camera }?.publisher.show(in: preview)
        }
    }

    /// At any time between `open` and `close`.
    private func join() throws(MediaGraphError) {
        let membership = Membership(user: user, room: room, owner: WeakElement(instance))
        try membership.join()
        let (inputs, outputs) = state.withLock { state in
            state.membership = membership
            return (state.inputs, state.readBy { !$0.isPreview })
        }
        for output in outputs { output.join() }
        for input in inputs { input.publisher.join(membership) }
        Self.log.log(.info, element, "\(membership.user) joined room \(membership.room.name)")
    }

    /// After data flow has ended.
    private func close() {
        let (inputs, outputs, membership) = state.withLock { state in
            defer {
                (state.membership, state.previews) = (nil, [:])
                for index in state.outputs.indices { state.outputs[index].stream = nil }
            }
            return (state.inputs, state.outputs, state.membership)
        }
        for input in inputs {
            input.publisher.join(nil)
            input.publisher.show(in: nil)
        }
        for output in outputs { output.stream?.remove(output.reader) }
        membership?.leave()
    }

    // MARK: Pads

    override func requestPad(_ template: String, name: String?) -> GhostPad? {
        if let kind = StreamKind(rawValue: template) { return requestInput(kind) }
        guard let key = OutputKey(template: template, name: name) else {
            postWarning(
                .settings,
                "\(self.name): replace %s in \(template) with a user's name, such as \(template.dropLast(2))bob"
            )
            return nil
        }
        return requestOutput(key)
    }

    private func requestInput(_ kind: StreamKind) -> GhostPad? {
        guard !isRunning || kind.isShare else {
            postWarning(
                .settings, "\(name): can't add \(kind.inputPad) while the session runs; link it before the graph starts"
            )
            return nil
        }
        guard !state.withLock({ $0.inputs.contains { $0.publisher.kind == kind } }),
            let publisher = StreamPublisher(kind, owner: WeakElement(instance)),
            let target = publisher.appSink.staticPad("sink")
        else { return nil }
        publisher.mirrors(settings.current.mirror)
        add(publisher.appSink)
        let pad = addGhostPad(kind.inputPad, target: target)
        pad.chainToTarget()
        if PublishChannel.allCases.contains(where: { $0.camera == kind }) {
            AlphaPermission.answer(at: pad.pad) { [settings] in settings.current.alphaRefusal }
        }
        let membership = state.withLock { state in
            state.inputs.append(Input(pad: pad, publisher: publisher))
            return state.membership
        }
        // A share begins in the midst of a call.
        if let membership {
            publisher.join(membership)
            publisher.appSink.syncState()
        }
        return pad
    }

    /// At any time: subscribing.
    private func requestOutput(_ key: OutputKey) -> GhostPad? {
        guard !state.withLock({ $0.outputs.contains { $0.key == key } }) else {
            postWarning(.settings, "\(name): \(key.padName) is already linked; put a tee after it to use it twice")
            return nil
        }
        guard let (source, reader) = SessionReceiver.make(key, session: name), let target = source.staticPad("src")
        else { return nil }
        add(source)
        let pad = addGhostPad(key.padName, template: key.template, target: target)
        // A subscription may be there before what reads it, and after; and one user's format is no other's trouble.
        pad.ignoresDownstreamFailures { [weak reader] in reader?.downstreamRefused() }
        let output = state.withLock { state in
            let output = Output(key: key, pad: pad, element: source, reader: reader, stream: state.stream(key))
            state.outputs.append(output)
            return output
        }
        output.join()
        source.syncState()
        return pad
    }

    override func releasePad(_ pad: GhostPad) {
        if let input = state.withLock({ state in
            state.inputs.firstIndex { $0.pad.isSame(as: pad) }.map { state.inputs.remove(at: $0) }
        }) {
            // First, for that waits for what is on its way in, which would begin the stream anew behind its end.
            remove(pad)
            input.publisher.join(nil)
            remove(input.publisher.appSink)
            input.publisher.appSink.removeDelegate()
            return
        }
        guard
            let output = state.withLock({ state in
                state.outputs.firstIndex { $0.pad.isSame(as: pad) }.map { state.outputs.remove(at: $0) }
            })
        else { return }
        output.stream?.remove(output.reader)
        remove(output.element)
        remove(pad)
    }
}

extension MediaSessionElement: NodeTraits {
    static var userPads: [UserPad] { StreamKind.userPads }
}
