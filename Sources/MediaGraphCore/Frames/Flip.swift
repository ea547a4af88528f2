import GStreamer

/// How a frame must be flipped, before its ``Rotation`` is applied (ZEGO's `ZegoVideoFlipMode`).
///
/// There are two reasons for a flip: the mirror mode, and a stream whose `image-orientation` tag says that the picture
/// is flipped. The mirror mode's flip travels with the frame as a `GstMeta`, and no node applies it. The tag's flip is
/// undone by `apply-rotation`.
public enum Flip: Int32, PropertyEnum {
    /// Not at all.
    case none = 0
    /// Horizontally: left and right change places.
    case x
    /// Vertically: top and bottom change places.
    case y
    /// Horizontally and vertically.
    case xy

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphFlip"
    /// The value's description in `mediagraph inspect`.
    public var blurb: String {
        switch self {
        case .none: "Nothing"
        case .x: "Left and right"
        case .y: "Top and bottom"
        case .xy: "Both"
        }
    }

    package static let meta = IntegerMeta(name: "MediaGraphFlipMeta")

    /// The mirror mode's flip on a buffer; `none` for a buffer without the meta.
    package init(of buffer: BufferAccess) { self = Self.meta.value(of: buffer).flatMap(Flip.init(rawValue:)) ?? .none }

    /// Combines two flips. Each bit is an axis, so two flips along the same axis cancel out.
    @inlinable
    package static func ^ (a: Flip, b: Flip) -> Flip { Flip(rawValue: a.rawValue ^ b.rawValue) ?? .none }

    /// Returns the flip of the frame in memory that mirrors its picture. Mirroring swaps left and right of the upright
    /// picture, so a frame that must be turned by 90 or 270 degrees is flipped vertically.
    package static func mirroring(_ orientation: VideoOrientation) -> Flip { orientation.swapsSides ? .y : .x }

    /// Converts a flip of the frame in memory to the same flip of the upright picture, or back.
    package func turned(by orientation: VideoOrientation) -> Flip {
        guard orientation.swapsSides else { return self }
        return switch self {
        case .x: .y
        case .y: .x
        case .none, .xy: self
        }
    }
}
