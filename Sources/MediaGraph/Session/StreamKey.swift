/// What a user sends into a session.
enum StreamKind: String, Sendable, CaseIterable, Codable {
    case camera, share
    /// A second camera channel (ZEGO's auxiliary publish channel).
    case cameraAux = "camera_aux"
    case microphone = "mic"
    case shareAudio = "shareaudio"

    var isShare: Bool { self == .share || self == .shareAudio }
    var isSound: Bool { self == .microphone || self == .shareAudio }

    /// The pad by which a member sends it.
    var inputPad: String { rawValue }

    /// The pad by which others read it, before the user's name.
    var outputPrefix: String { stream.rawValue + "_" }

    /// What those who read it know it by.
    var stream: UserStream {
        switch self {
        case .camera: .video
        case .cameraAux: .videoAux
        case .microphone: .audio
        case .share: .share
        case .shareAudio: .shareAudio
        }
    }
}

/// One stream of a room.
struct StreamKey: Sendable, Hashable, Codable {
    var user: String
    var kind: StreamKind
}
