/// One of the two channels that a user may send a camera by (ZEGO's `ZegoPublishChannel`).
public enum PublishChannel: String, Sendable, CaseIterable {
    case main, aux

    /// From a session's stream ID, `room/user/kind`; `nil` for a stream that is no camera's.
    init?(streamID: String) {
        switch streamID.split(separator: "/").last.flatMap({ UserStream(rawValue: String($0)) }) {
        case .video: self = .main
        case .videoAux: self = .aux
        default: return nil
        }
    }
}
