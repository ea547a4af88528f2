import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphElements
import MediaGraphSession

/// The settings of a session, which are fixed when the session is made (Zoom's `ZoomVideoSDKSessionContext` and
/// `ZoomVideoSDKInitParams`).
///
/// The session keeps strong references to the context's objects for its own lifetime.
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
    /// The user's name in the room.
    public var user: String
    /// The name that the others' programs show for the user, up to 256 bytes of UTF-8 (userName); if it is empty, they show
    /// `user`. ``Session/setDisplayName(_:)`` changes this later.
    public var displayName = ""
    /// Text for the others' programs, up to 1024 bytes of UTF-8 (customIdentity). ``Session/setCustomData(_:)`` changes this
    /// later.
    public var customData = ""
    /// The user's role. Only a host who may stream raw data can enable the alpha channel (the token's role and
    /// permission).
    public var role = SessionRole.participant
    /// Whether the user may stream raw data (`raw-streaming`). A host needs this to enable the alpha channel.
    public var allowsRawStreaming = false
    /// The name of the room. Sessions with the same room name and transport meet there.
    public var room: String
    /// How the room's users reach each other: by default the programs of one account on this machine.
    public var transport = SessionTransport.room

    /// A video source that replaces the camera (externalVideoSourceDelegate). The user sends no video if this and
    /// `camera` are both `nil`.
    public var externalVideoSource: (any VideoSource)?
    /// The camera, as a description of elements that ends with video, such as `v4l2src`. The video must be raw if there is a
    /// pre-processor, a frame observer or editor, or an alpha mask.
    public var camera: String?
    /// A second camera, sent as the auxiliary channel, as a description like that of `camera`.
    public var auxCamera: String?
    /// Where the main camera appears mirrored. ``Session/mirrorMode`` changes this later.
    public var mirrorMode = MirrorMode.previewOnly
    /// Where the second camera appears mirrored. ``Session/auxMirrorMode`` changes this later.
    public var auxMirrorMode = MirrorMode.previewOnly
    /// Whether the main camera is on from the beginning (videoOption.localVideoOn). ``SessionVideoHelper/startVideo(_:)``
    /// and ``SessionVideoHelper/stopVideo(_:)`` change that later.
    public var isVideoOn = true
    /// Whether the second camera is on from the beginning.
    public var isAuxVideoOn = true
    /// The largest size and rate that is suggested to the external video source and to `videosource` elements in
    /// `camera` and `auxCamera` (ZEGO's setVideoConfig, Zoom's maximum capability of the session). What the readers of
    /// the video need is suggested instead if it is less. Frames that are larger anyway are sent as they are.
    /// ``Session/setVideoConfiguration(_:)`` changes this later.
    public var videoConfiguration = VideoCapability.sessionDefault
    /// The elements that make the alpha channel of sent video, as the mask of an `alphachannel`, such as `alpha
    /// method=green`. An empty string uses the alpha of the camera's frames. With `nil` the session has no alpha
    /// channel. ``SessionVideoHelper`` turns the alpha channel on and off.
    public var alphaMask: String?
    /// Edits the camera's frames before they are sent (preProcessorDelegate). They are converted to I420, or with
    /// an `alphaMask` to A420 if they have alpha, unless the processor declares its ``VideoProcessor/formats``. Not allowed together with
    /// `externalVideoSource`.
    public var preProcessor: (any VideoProcessor & Sendable)?

    /// Observes frames at its positions (registerVideoFrameObserver). Not allowed together with `frameEditor`.
    /// ``Session/setFrameObserver(_:)`` and ``Session/setFrameEditor(_:)`` change this later.
    public var frameObserver: (any SessionFrameObserver)?
    /// Edits frames at its positions (Agora's observer in read-write mode). Not allowed together with `frameObserver`.
    public var frameEditor: (any SessionFrameEditor)?

    /// A virtual microphone (virtualAudioMicDelegate). If it is set, the device of `microphone` isn't opened.
    public var virtualAudioMic: (any VirtualMic)?
    /// Whether `virtualAudioMic` may send two channels. Others receive them as two if their ``speakerFormat`` is stereo.
    public var sendsStereo = false
    /// The microphone, as a description of elements that ends with audio, such as `alsasrc`.
    public var microphone: String?

    /// Whether the microphone is muted from the beginning (audioOption.mute). ``SessionAudioHelper/unmuteAudio()`` changes
    /// that later.
    public var isAudioMuted = false

    /// Receives all audio of the room (virtualAudioSpeakerDelegate) while the user is in it.
    public var virtualAudioSpeaker: (any VirtualSpeaker & Sendable)?
    /// Elements that play the room's audio, as a description that accepts audio, such as `autoaudiosink`.
    public var speaker: String?
    /// The format of all sound that the session receives: by `virtualAudioSpeaker`, `speaker` and its delegate (Agora's
    /// setPlaybackAudioFrameParameters). The sound of the users is converted to it.
    public var speakerFormat = SpeakerFormat()

    /// How pipes and previews deliver video, shares too (enableCustomVideoRender). With `nil`, delegates alone get raw
    /// frames.
    public var customVideoRender: CustomVideoRender?

    /// Describes the elements that decode received video, shares and previews, such as `decodebin`, which also passes raw
    /// video. They are needed if a camera sends
    /// encoded video; the SDKs, which encode by themselves, have no counterpart. With `nil`, delegates get encoded video only
    /// as such (``CustomVideoRender/bufferType``), which can't be combined with this.
    ///
    /// Each stream has elements of its own while somebody reads it. If they fail, that is a warning, and the stream is dropped
    /// until the user begins it anew.
    public var videoDecoder: String?

    /// How delegates may retain raw video (videoRawdataMemoryMode): with `heap` without limit, with `stack` as far as
    /// the frames' pool allows. Delegates borrow their frames in both modes. With `nil` they have `stack`, and sequences
    /// of frames `heap`. Reading a sequence of frames with `stack` throws.
    public var videoMemoryMode: MemoryMode?
    /// Like `videoMemoryMode`, for audio. `nil` means `stack`.
    public var audioMemoryMode: MemoryMode?
    /// Like `videoMemoryMode`, for shares.
    public var shareMemoryMode: MemoryMode?

    /// What happens when a handler throws: the pre-processor, the frame observer or editor, the virtual speaker, or a
    /// pipe's delegate. The session and the camera continue in any case. In descriptions, this is the property
    /// `on-error` of the handler's node.
    public var onError = HandlerFailurePolicy.pass

    /// Creates a context for a user in a room, with default values for all other settings.
    public init(user: String, room: String = "default") {
        self.user = user
        self.room = room
    }
}

/// What becomes of a frame, or of a block of sound, whose handler throws in a session.
///
/// Each different error is one ``SessionEvent/warning(_:)`` that names the handler, the stream, and the cost. After four
/// different errors of a handler, others are only counted, in ``NodeCounts/failed`` of the handler's node.
public enum HandlerFailurePolicy: Sendable, Hashable, CaseIterable {
    /// The frame continues. The first one that fails continues as the handler left it, later ones unedited: from the
    /// first failure on, the node copies each frame before the handler edits it.
    case pass
    /// The frame is dropped for those that get it from the handler, and counted in ``NodeCounts/dropped``. A dropped
    /// block of sound only counts as such.
    case drop
    /// The handler is taken away until the session is joined again, and the stream goes on without it. A delegate of a
    /// pipe may subscribe again before that.
    case detach

    /// The value of a node's property `on-error`.
    var policy: FailurePolicy {
        switch self {
        case .pass: .pass
        case .drop: .drop
        case .detach: .detach
        }
    }
}

extension SessionContext {
    /// Throws `wrongUsage` for settings that exclude each other, and `invalidParameter` for invalid names.
    func validate() throws(MediaGraphError) {
        for (subject, name) in [("the user's name", user), ("the room's name", room)] {
            if let refusal = SessionName.requirement(violatedBy: name) {
                throw .invalidParameter(.init(subject, expected: refusal, actual: "\"\(name)\""))
            }
        }
        try UserProfile(displayName: displayName, customData: customData).validate()
        if let expected = RoomTransportKind.requirement(violatedBy: transport.name) {
            throw .invalidParameter(
                .init("the session's transport", expected: expected, actual: "\"\(transport.name)\""))
        }
        try Self.validate(videoConfiguration)
        guard speakerFormat.isSupported else {
            let (rates, counts) = (SpeakerFormat.sampleRates, SpeakerFormat.channelCounts)
            throw .invalidParameter(
                .init(
                    "the session's speaker format",
                    expected: "\(rates.lowerBound) to \(rates.upperBound) Hz, and "
                        + "\(counts.lowerBound) or \(counts.upperBound) channels",
                    actual: "\(speakerFormat.sampleRate) Hz, \(speakerFormat.channelCount) channels"))
        }
        if externalVideoSource != nil, preProcessor != nil || camera != nil {
            throw .wrongUsage(
                .init(
                    "the session's video",
                    actual: "externalVideoSource can't be combined with camera or preProcessor; set one or the other"))
        }
        if frameObserver != nil, frameEditor != nil {
            throw .wrongUsage(
                .init(
                    "the session's frame observer",
                    actual: "frameObserver can't be combined with frameEditor; set one or the other"))
        }
        if let videoDecoder {
            guard customVideoRender?.bufferType != .encoded else {
                throw .wrongUsage(
                    .init(
                        "the session's video decoder",
                        actual: "can't be combined with a customVideoRender of encoded video; set one or the other"))
            }
            try PadSplitters.validate(decoder: videoDecoder)
        }
        if let customVideoRender { try customVideoRender.validate() }
        if alphaMask != nil, camera == nil, externalVideoSource == nil {
            throw .wrongUsage(
                .init(
                    "the session's alpha mask", actual: "needs a camera; set camera or externalVideoSource too"))
        }
        if preProcessor != nil, camera == nil {
            throw .wrongUsage(.init("the session's pre-processor", actual: "needs a camera; set camera too"))
        }
    }

    static func validate(_ configuration: VideoCapability) throws(MediaGraphError) {
        guard VideoCapability(text: configuration.text) == nil else { return }
        throw .invalidParameter(
            .init(
                "the session's video configuration", expected: "a width and height of 1 to 16384 and a rate above 0",
                actual: "\(configuration)"))
    }

    /// The session as a description, without the elements that are added and removed while it runs.
    func description(joins: Bool = true, stoppedPreviews: [PublishChannel] = []) -> String {
        let mirror =
            (mirrorMode == .previewOnly ? "" : " mirror=\(mirrorMode.nick)")
            + (auxMirrorMode == .previewOnly ? "" : " mirror-aux=\(auxMirrorMode.nick)")
        let profile =
            (displayName.isEmpty ? "" : " display-name=\(DescriptionText.inQuotes(displayName))")
            + (customData.isEmpty ? "" : " custom-data=\(DescriptionText.inQuotes(customData))")
        let rights = (role == .host ? " role=host" : "") + (allowsRawStreaming ? " raw-streaming=true" : "")
        let muting =
            (isVideoOn ? "" : " camera-off=true") + (isAuxVideoOn ? "" : " camera-aux-off=true")
            + (isAudioMuted ? " mic-muted=true" : "")
            + stoppedPreviews.map { " \($0.previewOffProperty)=true" }.joined()
        var lines = [
            "mediasession name=session room=\(DescriptionText.inQuotes(room)) user=\(DescriptionText.inQuotes(user))"
                + profile + transport.text + rights + mirror + muting
                + (videoConfiguration == VideoCapability.sessionDefault
                    ? "" : " video-config=\(videoConfiguration.text)")
                + (joins ? "" : " join=false")
        ]
        if let video { lines.append(video) }
        if let auxCamera { lines.append("\(auxCamera) ! session.camera_aux") }
        if virtualAudioMic != nil {
            lines.append("virtualmic name=mic\(sendsStereo ? " stereo=true" : "") ! session.mic")
        } else if let microphone {
            lines.append("\(microphone) ! session.mic")
        }
        if hasSpeaker {
            lines.append(speakerText + (speaker.map { " ! \($0)" } ?? ""))
        }
        return lines.joined(separator: "\n")
    }

    /// The description from the camera to the session; `nil` without a camera.
    private var video: String? {
        guard let source = externalVideoSource == nil ? camera : "videosource name=camera" else { return nil }
        let observation = SessionObservation(self)
        let parts = [
            source, observation?.text(.postCapture),
            alphaMask.map { "alphachannel name=alpha mask=\(DescriptionText.inQuotes($0))" },
            preProcessor.map(preProcessorText),
            observation?.text(.preEncoder), "session.camera",
        ]
        return parts.compactMap { $0 }.joined(separator: " ! ")
    }

    /// The name of the first element that belongs to the pre-processor.
    static let preProcessorInput = "preprocessor_input"

    /// A pre-processor that declares no formats gets planar YUV, as in the SDKs, whatever the camera delivers.
    private func preProcessorText(_ processor: any VideoProcessor) -> String {
        let declared = type(of: processor).formats
        let planar: [VideoFormat] = alphaMask == nil ? [.i420] : [.i420, .a420]
        let formats = (declared.isEmpty ? planar : declared).map(\.gstreamerName).joined(separator: ",")
        return "videoconvert name=\(Self.preProcessorInput) ! video/x-raw,format={\(formats)} ! "
            + "preprocessor name=preprocessor \(onErrorText)"
    }

    func hasCamera(_ channel: PublishChannel) -> Bool {
        switch channel {
        case .main: externalVideoSource != nil || camera != nil
        case .aux: auxCamera != nil
        }
    }

    var hasSpeaker: Bool { virtualAudioSpeaker != nil || speaker != nil }

    var speakerText: String {
        "virtualspeaker name=speaker" + (speakerProperties.map { " \($0.name)=\($0.text)" }.joined())
    }

    /// The properties of the speaker.
    var speakerProperties: [(name: String, text: String)] {
        speakerFormat.properties + audioMemoryMode.properties + [onErrorProperty]
    }

    /// The property of a node with a handler that says what the handler's failure costs.
    var onErrorProperty: (name: String, text: String) { ("on-error", onError.policy.nick) }

    private var onErrorText: String { "\(onErrorProperty.name)=\(onErrorProperty.text)" }

    /// The properties of a pipe of this kind.
    func properties(of kind: PipeIdentity.Kind) -> [(name: String, text: String)] {
        let memoryMode = kind == .share ? shareMemoryMode : videoMemoryMode
        return memoryMode.properties + (customVideoRender?.properties ?? []) + [onErrorProperty]
    }
}

extension SpeakerFormat {
    /// The format as properties of a `virtualspeaker`, without defaults.
    var properties: [(name: String, text: String)] {
        let standard = SpeakerFormat()
        var properties: [(name: String, text: String)] = []
        if sampleRate != standard.sampleRate { properties.append(("rate", "\(sampleRate)")) }
        if channelCount != standard.channelCount { properties.append(("channels", "\(channelCount)")) }
        return properties
    }
}

extension MemoryMode? {
    /// The mode as a property of a node.
    var properties: [(name: String, text: String)] { map { [("memory-mode", $0.nick)] } ?? [] }
}
