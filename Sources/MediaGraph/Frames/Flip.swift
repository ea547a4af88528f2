import GStreamer

/// What to flip in a captured frame so that it shows what the mirror mode asks for (ZEGO's `ZegoVideoFlipMode`). It travels
/// with the frame as a `GstMeta`; a node never flips by itself.
public enum Flip: Int32, PropertyEnum {
    case none = 0
    /// Left and right change places.
    case x
    /// Top and bottom change places.
    case y
    case xy

    public static let typeName = "MediaGraphFlip"
    public var blurb: String {
        switch self {
        case .none: "Nothing"
        case .x: "Left and right"
        case .y: "Top and bottom"
        case .xy: "Both"
        }
    }

    static let meta = IntegerMeta(name: "MediaGraphFlipMeta")

    /// What the buffer carries; a buffer without the meta is as it should be.
    init(of buffer: BufferAccess) { self = Self.meta.value(of: buffer).flatMap(Flip.init(rawValue:)) ?? .none }
}
