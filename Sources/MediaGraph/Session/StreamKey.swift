/// What a user sends into a session.
enum StreamKind: String, Sendable, CaseIterable, Codable {
    case camera, share
    /// A second camera channel (ZEGO's auxiliary publish channel).
    case cameraAux = "camera_aux"
    case microphone = "mic"
    case shareAudio = "shareaudio"

    var isSound: Bool { self == .microphone || self == .shareAudio }
    var isShare: Bool { self == .share || self == .shareAudio }

    /// The pad by which a member sends it.
    var inputPad: String { rawValue }

    /// The pad by which others read it, before the user's name.
    var outputPrefix: String {
        switch self {
        case .camera: "video_"
        case .cameraAux: "videoaux_"
        case .microphone: "audio_"
        case .share: "share_"
        case .shareAudio: "shareaudio_"
        }
    }

    /// What a stream's ID calls it.
    var name: String {
        switch self {
        case .camera: "video"
        case .cameraAux: "videoaux"
        case .microphone: "audio"
        case .share: "share"
        case .shareAudio: "shareaudio"
        }
    }
}

/// One stream of a room.
struct StreamKey: Sendable, Hashable, Codable {
    var user: String
    var kind: StreamKind
}
