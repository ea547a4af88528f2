/// What a user sends; the names are those of the streams' IDs, messages and pads.
public enum UserStream: String, Sendable, CaseIterable {
    case video
    /// A second camera channel (ZEGO's auxiliary publish channel).
    case videoAux = "videoaux"
    case audio, share
    case shareAudio = "shareaudio"
}
