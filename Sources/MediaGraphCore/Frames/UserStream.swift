/// The kinds of streams that a user sends. The raw values appear in stream IDs, messages and pad names.
public enum UserStream: String, Sendable, CaseIterable {
    /// The main camera.
    case video
    /// A second camera (ZEGO's auxiliary publish channel).
    case videoAux = "videoaux"
    /// The microphone.
    case audio
    /// A shared screen.
    case share
    /// The sound of a shared screen.
    case shareAudio = "shareaudio"
}

/// One of the two channels on which a user may publish a camera (ZEGO's `ZegoPublishChannel`).
public enum PublishChannel: String, Sendable, CaseIterable {
    /// The main camera.
    case main
    /// A second camera.
    case aux

    /// Reads the channel from a session's stream ID, `room/user/kind`; `nil` if the stream isn't a camera's.
    init?(streamID: String) {
        switch streamID.split(separator: "/").last.flatMap({ UserStream(rawValue: String($0)) }) {
        case .video: self = .main
        case .videoAux: self = .aux
        default: return nil
        }
    }
}
