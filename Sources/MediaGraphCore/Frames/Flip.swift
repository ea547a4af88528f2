import GStreamer

/// What to flip in a frame as it lies, before it is turned by its ``Rotation``: for the mirror mode (ZEGO's
/// `ZegoVideoFlipMode`), and because the stream's `image-orientation` tag says that the picture is flipped.
///
/// The mirror mode's travels with the frame as a `GstMeta`; no node flips for that. `apply-rotation` undoes the tag's.
public enum Flip: Int32, PropertyEnum {
    case none = 0
    /// Left and right change places.
    case x
    /// Top and bottom change places.
    case y
    case xy

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphFlip"
    /// What the value means, for `inspect`.
    public var blurb: String {
        switch self {
        case .none: "Nothing"
        case .x: "Left and right"
        case .y: "Top and bottom"
        case .xy: "Both"
        }
    }

    package static let meta = IntegerMeta(name: "MediaGraphFlipMeta")

    /// What the buffer carries; a buffer without the meta is as it should be.
    package init(of buffer: BufferAccess) { self = Self.meta.value(of: buffer).flatMap(Flip.init(rawValue:)) ?? .none }

    /// Each bit is a direction: what is flipped twice is as it was.
    @inlinable
    package static func ^ (a: Flip, b: Flip) -> Flip { Flip(rawValue: a.rawValue ^ b.rawValue) ?? .none }

    /// The same flip of the picture once that has been made upright, and the other way round.
    package func turned(by orientation: VideoOrientation) -> Flip {
        guard orientation.swapsSides else { return self }
        return switch self {
        case .x: .y
        case .y: .x
        case .none, .xy: self
        }
    }
}
