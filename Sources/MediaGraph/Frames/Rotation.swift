import GStreamer

/// How far a frame must be turned clockwise to stand upright. It travels with the frame as a `GstMeta`, the only truth.
public enum Rotation: Int32, Sendable, CaseIterable, Hashable {
    case none = 0
    case clockwise90 = 90
    case clockwise180 = 180
    case clockwise270 = 270

    static let meta = IntegerMeta(name: "MediaGraphRotationMeta")

    /// What the buffer carries; a buffer without the meta is upright.
    init(of buffer: BufferAccess) {
        self = Self.meta.value(of: buffer).flatMap(Rotation.init(rawValue:)) ?? .none
    }
}
