import MediaGraphCore
import MediaGraphDescription

/// What a user sends into a session.
package enum StreamKind: String, Sendable, CaseIterable, Codable {
    case camera, share
    /// A second camera channel (ZEGO's auxiliary publish channel).
    case cameraAux = "camera_aux"
    case microphone = "mic"
    case shareAudio = "shareaudio"

    package var isShare: Bool { self == .share || self == .shareAudio }
    package var isSound: Bool { self == .microphone || self == .shareAudio }

    /// The pad by which a member sends it.
    package var inputPad: String { rawValue }

    /// The pad by which others read it, before the user's name.
    package var outputPrefix: String { stream.rawValue + "_" }

    /// The pads by which a session is read.
    package static var userPads: [UserPad] {
        allCases.map { UserPad(prefix: $0.outputPrefix, requiresEscaping: true) }
    }

    /// The name under which other users receive the stream: `camera` is received as `video`.
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
package struct StreamKey: Sendable, Hashable, Codable {
    package var user: String
    package var kind: StreamKind

    package init(user: String, kind: StreamKind) {
        self.user = user
        self.kind = kind
    }
}
