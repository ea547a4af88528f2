import Foundation
import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphElements
import Synchronization

/// `mediasession`: one user in a room, with a pad for each stream that the user sends or receives.
///
/// The element is a bin with an appsink behind each sink pad and a live source behind each source pad. The bin as a
/// whole is live, so that a graph reaches PLAYING whether or not other users are in the room.
final class MediaSessionElement: BinElement, ConfigurableElement, @unchecked Sendable {
    // `@unchecked Sendable`: all properties are constant, or behind locks.

    static let defaultSettings = Settings()
    let settings = SettingsStore(defaultSettings)

    struct Output: Sendable {
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

    struct Input: Sendable {
        let pad: GhostPad
        let publisher: StreamPublisher
    }

    struct State: Sendable {
        var inputs: [Input] = []
        var outputs: [Output] = []
        var membership: Membership?
        /// Set while the user is in the room.
        var meter: StreamMeter?
        /// The value of `StreamReader.latencyChanges` when the latency was last decided.
        var latencyChanges = 0
        /// The streams of the user's own cameras while data flows, whether or not the user is in the room.
        var previews: [PublishChannel: RoomStream] = [:]

        /// The stream that an output reads; `nil` for another user's stream while this user isn't in a room.
        func stream(_ key: OutputKey) -> RoomStream? {
            switch key {
            case .preview(let channel): previews[channel]
            case .of(let key): membership?.stream(key)
            }
        }

        /// Connects the outputs that `isIncluded` selects with their streams, which exist from now on. Returns these
        /// outputs.
        mutating func bindOutputs(where isIncluded: (OutputKey) -> Bool) -> [Output] {
            for index in outputs.indices where isIncluded(outputs[index].key) {
                outputs[index].stream = stream(outputs[index].key)
            }
            return outputs.filter { isIncluded($0.key) }
        }
    }

    let state = Mutex(State())

    static let log = DebugCategory("mediasession", "MediaGraph media session")

    private static let videoCaps = "\(BufferType.native.caps); \(BufferType.encoded.caps)"
    private static let soundCaps = "audio/x-raw"
    /// A transport may also offer sound as received.
    private static let receivedSoundCaps = "audio/x-raw; audio/x-opus"

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: NodeName.mediaSession, typeName: "GstMediaSession", longName: "Media session",
            classification: "Source/Sink/Network",
            summary: """
                One user in a room: sends the user's camera, microphone and share, and receives the other users' streams. The \
                name of a source pad, such as video_bob, contains a user's name: letters, digits and - are unchanged, other \
                bytes are written as _XX in hexadecimal, as in video_J_C3_BCrgen
                """,
            author: NodeDefinition.author,
            padTemplates: StreamKind.allCases.map {
                PadTemplate($0.inputPad, .sink, .request, caps: $0.isSound ? soundCaps : videoCaps)
            } + PublishChannel.allCases.map { PadTemplate($0.previewPad, .source, .request, caps: videoCaps) }
                + StreamKind.allCases.map {
                    PadTemplate(
                        "\($0.outputPrefix)%s", .source, .request, caps: $0.isSound ? receivedSoundCaps : videoCaps)
                },
            properties: properties, actions: actions, messages: SessionMessage.declarations,
            abiVersion: NodeDefinition.abiVersion)
    }

    private var user: String {
        let user = settings.current.user
        return (user.isEmpty ? name : user).precomposedStringWithCanonicalMapping
    }

    private var transport: RoomTransportKind {
        guard let transport = RoomTransportKind.named(settings.current.transport) else {
            preconditionFailure("`validate` lets only registered transports through")
        }
        return transport
    }

    private var room: Room {
        Room.named(
            settings.current.room.precomposedStringWithCanonicalMapping, over: transport,
            settings.current.transportSettings)
    }

    func validate(_ proposed: Settings, changing property: String) throws(PropertyRefused) {
        let refusal: String? =
            switch property {
            case "room": SessionName.requirement(violatedBy: proposed.room)
            case "user": proposed.user.isEmpty ? nil : SessionName.requirement(violatedBy: proposed.user)
            case "display-name", "custom-data": proposed.profile.violatedRequirement
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

    /// Joins the room if the graph runs. `couple` is called again if another thread has changed a property in the
    /// meantime; by then the user is in the room, and this does nothing.
    private func changeWhileRunning(_ joins: Bool) throws(PropertyRefused) {
        let outcome = withStateLock { () -> Result<Void, MediaGraphError> in
            guard isRunning, joins != (state.withLock { $0.membership } != nil) else { return .success(()) }
            guard joins else {
                return .failure(
                    .wrongUsage(.init("the room", actual: "can't be left while the graph runs; stop the graph")))
            }
            return Result { () throws(MediaGraphError) in try join() }
        }
        do throws(MediaGraphError) {
            guard let outcome else {
                throw .wrongUsage(.init("the session is changing state; try again afterwards"))
            }
            try outcome.get()
        } catch { throw PropertyRefused("\(error)", details: error.details) }
    }

    func settingsDidChange(_ property: String) {
        if property == "display-name" || property == "custom-data" {
            state.withLock { $0.membership }?.announceProfile()
        }
        for input in state.withLock({ $0.inputs }) {
            switch property {
            case "mirror", "mirror-aux":
                input.publisher.setMirrorMode(settings.current.mirrorMode(of: input.publisher.kind))
            case "preview-off", "preview-aux-off": followPreview(input.publisher)
            case "camera-off", "camera-aux-off", "mic-muted": followMuting(input.publisher)
            case "video-config": input.publisher.demandChanged()
            default: break
            }
        }
    }

    private func followMuting(_ publisher: StreamPublisher) {
        publisher.mute { [settings] in settings.current.mutes(publisher.kind) }
    }

    private func followPreview(_ publisher: StreamPublisher) {
        publisher.setPreviewOff { [settings] in settings.current.isPreviewOff(for: publisher.kind) }
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
            for input in state.withLock({ $0.inputs }) {
                input.publisher.announcementMayHaveChanged()
                // The pipeline changes the states of its sinks first, so the sources aren't in PLAYING yet.
                input.publisher.willPlay()
            }
        }
        let result = super.changeState(change)
        switch change {
        case .readyToPaused where result == .failure: close()
        case .pausedToReady: close()
        // Live also without source pads, so that an element waiting for another user doesn't keep the graph from
        // PLAYING.
        case .readyToPaused, .playingToPaused: return result == .failure ? result : .noPreroll
        default: break
        }
        return result
    }

    override class var ownsChildErrors: Bool { true }
    override class var handlesSentEvents: Bool { true }

    /// Updates the timing of sent streams when the graph's latency has changed, unless the change comes from received
    /// streams: two users who send each other's video would increase each other's latency for ever.
    override func latencyDecided() {
        let changes = StreamReader.latencyChanges.count(around: element)
        let isOfReaders = state.withLock { state in
            defer { state.latencyChanges = changes }
            return changes != state.latencyChanges
        }
        guard !isOfReaders else { return }
        for input in state.withLock({ $0.inputs }) { input.publisher.announcementMayHaveChanged() }
    }

    var statistics: Structure {
        let (inputs, outputs) = state.withLock { ($0.inputs, $0.outputs) }
        let sent = inputs.reduce(0) { $0 + $1.publisher.statistics.frames.load(ordering: .relaxed) }
        let lost =
            inputs.reduce(0) { $0 + $1.publisher.losses }
            + outputs.reduce(0) { $0 + $1.reader.statistics.dropped.load(ordering: .relaxed) }
        let muted = inputs.reduce(0) { $0 + $1.publisher.statistics.muted.load(ordering: .relaxed) }
        return Structure(NodeStatistics.name, [("frames", sent), ("dropped", lost), ("muted", muted)])
    }

    // MARK: The room

    /// Starts the previews, which need no room, before data flows.
    private func open() {
        let (user, room, clock) = (user, settings.current.room, transport.clock)
        let (inputs, outputs, previews) = state.withLock { state in
            for channel in PublishChannel.allCases {
                state.previews[channel] = RoomStream(
                    StreamKey(user: user, kind: channel.camera), room: room, clock: clock)
            }
            return (state.inputs, state.bindOutputs(where: \.isPreview), state.previews)
        }
        for output in outputs { output.join() }
        for (channel, preview) in previews {
            inputs.first { $0.publisher.kind == channel.camera }?.publisher.show(in: preview)
        }
    }

    /// Joins the room, and waits for its outcome. Called at any time between `open` and `close`, with the state lock
    /// held.
    private func join() throws(MediaGraphError) {
        let current = settings.current
        let sending = SendSettings(
            Set(state.withLock { $0.inputs.map(\.publisher.kind) }), videoEncoder: current.videoEncoder)
        try transport.check(current.transportSettings, sending)
        let membership = Membership(user: user, room: room, sending: sending, owner: WeakElement(instance)) {
            [settings] in
            settings.current.profile
        }
        try membership.join()
        let (inputs, outputs) = state.withLock { state in
            state.membership = membership
            return (state.inputs, state.bindOutputs { !$0.isPreview })
        }
        for output in outputs { output.join() }
        for input in inputs { input.publisher.join(membership) }
        // The profile may have changed while this waited for the room.
        membership.announceProfile()
        startMeter(membership)
        Self.log.log(.info, element, "\(membership.user) joined room \(membership.room.name)")
    }

    private func startMeter(_ membership: Membership) {
        let owner = WeakElement(instance)
        let meter = StreamMeter(clock: transport.clock) {
            guard let element = owner.element else { return [] }
            let session = ElementClass.implementation(of: element.element, as: Self.self)
            for input in session.state.withLock({ $0.inputs }) { input.publisher.endSpeechWithoutSound() }
            return session.counters
        } report: { [weak membership] statistics in
            if let membership { owner.post(SessionMessage.statistics(statistics, room: membership.room.name)) }
        }
        state.withLock { $0.meter = meter }
    }

    /// The counters of the streams that the user sends, and of those that the session reads.
    private var counters: [StreamMeter.Reading] {
        let (inputs, outputs, room) = state.withLock { ($0.inputs, $0.outputs, $0.membership?.room) }
        func withNetwork(_ counters: StreamStatistics, _ key: StreamKey) -> StreamStatistics {
            var counters = counters
            counters.network = room?.networkStatistics(of: key, counters.direction)
            return counters
        }
        let sent = inputs.compactMap { input in
            input.publisher.counters.map { counters in
                let kind = input.publisher.kind
                return StreamMeter.Reading(
                    kind.inputPad, withNetwork(counters, StreamKey(user: counters.user, kind: kind)))
            }
        }
        let received = outputs.compactMap { output -> StreamMeter.Reading? in
            guard case .of(let key) = output.key else { return nil }
            let statistics = output.reader.statistics
            return (
                output.key.padName,
                withNetwork(
                    StreamStatistics(
                        key, .received, statistics, lost: statistics.dropped.load(ordering: .relaxed),
                        output.stream?.format), key)
            )
        }
        return sent + received
    }

    /// Leaves the room and ends the previews, after data flow has ended.
    private func close() {
        let (inputs, outputs, membership, meter) = state.withLock { state in
            defer {
                (state.membership, state.meter, state.previews) = (nil, nil, [:])
                for index in state.outputs.indices { state.outputs[index].stream = nil }
            }
            return (state.inputs, state.outputs, state.membership, state.meter)
        }
        meter?.stop()
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

    /// Adds a sink pad through which the user sends a stream.
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
        publisher.setMirrorMode(settings.current.mirrorMode(of: kind))
        followMuting(publisher)
        followPreview(publisher)
        add(publisher.appSink)
        let pad = addGhostPad(kind.inputPad, target: target)
        pad.chainToTarget(stampsCaptureTime: !kind.isSound)
        if kind.isCamera {
            AlphaPermission.answer(at: pad.pad) { [settings] in settings.current.alphaRefusal }
            VideoDemand.answer(at: pad.pad) { [settings, weak publisher] in
                // Other branches of a tee may need more than this session's readers.
                let isShared = pad.pad.peer?.parent?.alsoFeedsOthers == true
                return VideoDemand(
                    limit: settings.current.videoConfiguration,
                    resolution: isShared ? .native : publisher?.readersDemand ?? .native)
            }
        }
        let membership = state.withLock { state in
            state.inputs.append(Input(pad: pad, publisher: publisher))
            return state.membership
        }
        // A share may be added while the session runs.
        if let membership {
            publisher.join(membership)
            publisher.appSink.syncState()
        }
        return pad
    }

    /// Adds a source pad, which subscribes to a stream. Called at any time.
    private func requestOutput(_ key: OutputKey) -> GhostPad? {
        guard !state.withLock({ $0.outputs.contains { $0.key == key } }) else {
            postWarning(.settings, "\(name): \(key.padName) is already linked; put a tee after it to use it twice")
            return nil
        }
        guard let (source, reader) = SessionReceiver.make(key, session: name, clock: transport.clock),
            let target = source.staticPad("src")
        else { return nil }
        add(source)
        let pad = addGhostPad(key.padName, template: key.template, target: target)
        // The pad may be unlinked before and after it is read, and one stream's format must not end the other streams.
        pad.ignoreDownstreamFailures { [weak reader] in reader?.downstreamRefused() }
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
            // Removes the pad first, which waits for a buffer on its way in: that buffer would restart the stream after
            // its end.
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
