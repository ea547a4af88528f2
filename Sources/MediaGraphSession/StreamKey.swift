import MediaGraphCore
import MediaGraphDescription

/// The kinds of streams that a user can send into a session.
package enum StreamKind: String, Sendable, CaseIterable, Codable {
    case camera, share
    /// A second camera channel (ZEGO's auxiliary publish channel).
    case cameraAux = "camera_aux"
    case microphone = "mic"
    case shareAudio = "shareaudio"

    /// Whether the stream is part of a share.
    package var isShare: Bool { self == .share || self == .shareAudio }
    /// Whether the stream is a camera's.
    var isCamera: Bool { self == .camera || self == .cameraAux }
    /// Whether the stream is audio.
    package var isSound: Bool { self == .microphone || self == .shareAudio }

    /// The name of the sink pad through which a session sends the stream.
    package var inputPad: String { rawValue }

    /// The prefix of the source pads through which other users read the stream; the user's name follows.
    package var outputPrefix: String { stream.rawValue + "_" }

    /// The source pads of a session that are named after users.
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

/// A change of a stream that all members of its room are told of, whether or not they read the stream.
package enum StreamChange: Sendable, Hashable, Codable {
    /// The user has started or stopped sending the stream.
    case status(isOn: Bool)
    /// The user has turned the camera or the microphone off, or on again.
    case muted(Bool)
    /// The user has begun or stopped speaking. Only for microphones that are on.
    case speaking(Bool)
    /// The stream's frames have an alpha channel from now on, or no longer.
    case alpha(isOn: Bool)
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
