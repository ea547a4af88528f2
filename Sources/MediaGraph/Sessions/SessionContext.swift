import MediaGraphCore
import MediaGraphDescription
import MediaGraphSession

/// What a session is joined with (Zoom's `ZoomVideoSDKSessionContext` and `ZoomVideoSDKInitParams`): all that is set before
/// and stays while it lasts.
///
/// The session holds what is in it until it is gone itself.
///
/// ```swift
/// var context = SessionContext(user: "alice", room: "demo")
/// context.camera = "v4l2src"
/// context.preProcessor = Blur()
/// context.virtualAudioMic = Speech()
/// let session = try Session(context)
/// try await session.join()
/// ```
public struct SessionContext: Sendable {
    /// By which the others know this user.
    public var user: String
    /// What this user may do: the alpha channel takes a host who may stream raw data (the token's role and permission).
    public var role = SessionRole.participant
    /// Whether the user may stream raw data (`raw-streaming`); a host needs it to enable the alpha channel.
    public var allowsRawStreaming = false
    /// Whoever names the same room meets there.
    public var room: String
    /// The name of the transport that carries streams between the room's users: the `transport` property of `mediasession`.
    public var transport = Self.defaultTransport
    private static let defaultTransport = RoomTransportKind.defaultName

    /// A source of video in a camera's place (externalVideoSourceDelegate). Without a camera and without this the user sends
    /// no video.
    public var externalVideoSource: (any VideoSource)?
    /// A camera, as a description of elements that ends in its video: `v4l2src`.
    public var camera: String?
    /// A second camera, sent by the auxiliary channel, as a description like `camera`'s.
    public var auxCamera: String?
    /// Where the main camera is to be seen mirrored; ``Session/mirrorMode`` changes it later.
    public var mirrorMode = MirrorMode.previewOnly
    /// What makes the alpha channel of what is sent, as an `alphachannel`'s mask (`alpha method=green`); `""`: the alpha that
    /// frames come with. `nil`: this user has none to turn on. ``SessionVideoHelper`` turns it on and off.
    public var alphaMask: String?
    /// Edits the camera's frames before they are sent (preProcessorDelegate); an alternative to `externalVideoSource`.
    public var preProcessor: (any VideoProcessor & Sendable)?

    /// Looks at frames at its positions (registerVideoFrameObserver); or instead one that edits them.
    public var frameObserver: (any SessionFrameObserver)?
    /// Edits frames at the positions that it names (Agora's observer in read-write mode).
    public var frameEditor: (any SessionFrameEditor)?

    /// A microphone in the device's place (virtualAudioMicDelegate): the device isn't opened then.
    public var virtualAudioMic: (any VirtualMic)?
    /// A microphone, as a description of elements that ends in its sound: `alsasrc`.
    public var microphone: String?

    /// Gets all that is to be heard (virtualAudioSpeakerDelegate), from joining on.
    public var virtualAudioSpeaker: (any VirtualSpeaker & Sendable)?
    /// Where it is played besides, as a description of elements that takes sound: `autoaudiosink`.
    public var speaker: String?

    /// How pipes and previews hand video over (enableCustomVideoRender); `nil`: as each stream is, to delegates alone.
    public var customVideoRender: CustomVideoRender?

    /// Whose memory raw video, sound and shares come in (videoRawdataMemoryMode and the like); `nil`: borrowed or owned as
    /// the one who takes them asks for it. A mode that contradicts a delegate is an error when that subscribes.
    public var videoMemoryMode: MemoryMode?
    /// Like `videoMemoryMode`, for audio.
    public var audioMemoryMode: MemoryMode?
    /// Like `videoMemoryMode`, for shares.
    public var shareMemoryMode: MemoryMode?

    /// Creates a context for a user in a room, with default values for all other settings.
    public init(user: String, room: String = "default") {
        self.user = user
        self.room = room
    }
}

extension SessionContext {
    /// Throws `wrongUsage` for what rules each other out, and `invalidParameter` for names that can't be.
    func validate() throws(MediaGraphError) {
        for (subject, name) in [("the user's name", user), ("the room's name", room)] {
            if let refusal = SessionName.requirement(violatedBy: name) {
                throw .invalidParameter(.init(subject, expected: refusal, actual: "\"\(name)\""))
            }
        }
        if let expected = RoomTransportKind.requirement(violatedBy: transport) {
            throw .invalidParameter(.init("the session's transport", expected: expected, actual: "\"\(transport)\""))
        }
        if externalVideoSource != nil, preProcessor != nil || camera != nil {
            throw .wrongUsage(
                .init(
                    "the session's video", expected: "an external video source, or a camera and its pre-processor",
                    actual: "both"))
        }
        if frameObserver != nil, frameEditor != nil {
            throw .wrongUsage(
                .init("the session's frame observer", expected: "one that looks, or one that edits", actual: "both"))
        }
        if preProcessor != nil, camera == nil {
            throw .wrongUsage(.init("the session's pre-processor", expected: "a camera", actual: "none"))
        }
    }

    /// The session as a description: what comes and goes while it runs isn't in it.
    func description(joins: Bool = true) -> String {
        let mirror = mirrorMode == .previewOnly ? "" : " mirror=\(mirrorMode.nick)"
        let transportSetting =
            transport == Self.defaultTransport ? "" : " transport=\(DescriptionText.inQuotes(transport))"
        let rights = (role == .host ? " role=host" : "") + (allowsRawStreaming ? " raw-streaming=true" : "")
        var lines = [
            "mediasession name=session room=\(DescriptionText.inQuotes(room)) user=\(DescriptionText.inQuotes(user))"
                + transportSetting + rights + mirror
                + (joins ? "" : " join=false")
        ]
        if let video { lines.append(video) }
        if let auxCamera { lines.append("\(auxCamera) ! session.camera_aux") }
        if virtualAudioMic != nil {
            lines.append("virtualmic name=mic ! session.mic")
        } else if let microphone {
            lines.append("\(microphone) ! session.mic")
        }
        if hasSpeaker {
            lines.append(speakerText + (speaker.map { " ! \($0)" } ?? ""))
        }
        return lines.joined(separator: "\n")
    }

    /// From the camera to the session; `nil` without one.
    private var video: String? {
        guard let source = externalVideoSource == nil ? camera : "videosource name=camera" else { return nil }
        let observation = SessionObservation(self)
        let parts = [
            source, observation?.text(.postCapture),
            alphaMask.map { "alphachannel name=alpha mask=\(DescriptionText.inQuotes($0))" },
            preProcessor == nil ? nil : "preprocessor name=preprocessor",
            observation?.text(.preEncoder), "session.camera",
        ]
        return parts.compactMap { $0 }.joined(separator: " ! ")
    }

    func hasCamera(_ channel: PublishChannel) -> Bool {
        switch channel {
        case .main: externalVideoSource != nil || camera != nil
        case .aux: auxCamera != nil
        }
    }

    var hasSpeaker: Bool { virtualAudioSpeaker != nil || speaker != nil }

    var speakerText: String {
        "virtualspeaker name=speaker" + (audioMemoryMode.map { " memory-mode=\($0.nick)" } ?? "")
    }

    /// What a pipe of this kind is set by.
    func properties(of kind: PipeIdentity.Kind) -> [(name: String, text: String)] {
        kind == .share ? shareMemoryMode.properties : videoMemoryMode.properties + (customVideoRender?.properties ?? [])
    }
}

extension MemoryMode? {
    /// As a description has it.
    var properties: [(name: String, text: String)] { map { [("memory-mode", $0.nick)] } ?? [] }
}
