/// The orientation of a picture in its frame: one of the eight that Exif and the tag `image-orientation` define.
///
/// To make the picture upright, flip it left to right if `isFlipped`, then turn it clockwise by `degrees`.
public struct VideoOrientation: Sendable, Hashable {
    /// The number of clockwise turns by 90 degrees, from 0 to 3, to apply after the flip.
    public let quarterTurns: Int32
    /// Whether to flip the picture left to right, before the turns.
    public let isFlipped: Bool

    /// The orientation of a picture that is upright.
    public static let upright = VideoOrientation()

    /// Creates an orientation. `quarterTurns` may be any number, negative for counterclockwise turns; it is reduced to
    /// 0 to 3.
    public init(quarterTurns: Int32 = 0, isFlipped: Bool = false) {
        self.quarterTurns = quarterTurns & 3
        self.isFlipped = isFlipped
    }

    /// All eight orientations.
    public static let all = [false, true].flatMap { isFlipped in
        (0..<4).map { VideoOrientation(quarterTurns: $0, isFlipped: isFlipped) }
    }

    /// The degrees of the clockwise turn: 0, 90, 180 or 270.
    public var degrees: Int32 { quarterTurns * 90 }

    /// Whether making the picture upright exchanges its width and height.
    public var swapsSides: Bool { quarterTurns & 1 != 0 }

    /// The orientation as one integer, for metas: the degrees, plus 360 if the picture is flipped.
    public var code: Int32 { degrees + (isFlipped ? 360 : 0) }

    /// Creates the orientation with this `code`; `nil` if there is none.
    public init?(code: Int32) {
        guard (0..<720).contains(code), code % 90 == 0 else { return nil }
        self.init(quarterTurns: code / 90 % 4, isFlipped: code >= 360)
    }

    /// The value of the tag `image-orientation`.
    public var tag: String { "\(isFlipped ? "flip-" : "")rotate-\(degrees)" }

    /// Creates the orientation with this value of the tag `image-orientation`; `nil` if there is none.
    public init?(tag: String) {
        guard let known = Self.all.first(where: { $0.tag == tag }) else { return nil }
        self = known
    }

    /// The value of `videoflip`'s property `video-direction` that makes the picture upright.
    public var videoDirection: String {
        switch (isFlipped, quarterTurns) {
        case (false, 1): "90r"
        case (false, 2): "180"
        case (false, 3): "90l"
        case (false, _): "identity"
        case (true, 1): "ur-ll"
        case (true, 2): "vert"
        case (true, 3): "ul-lr"
        case (true, _): "horiz"
        }
    }

    /// Returns the orientation whose flip and turn equal those of this orientation followed by those of `next`.
    public func followed(by next: VideoOrientation) -> VideoOrientation {
        // A turn followed by a flip equals the flip followed by the opposite turn.
        VideoOrientation(
            quarterTurns: next.quarterTurns + (next.isFlipped ? -quarterTurns : quarterTurns),
            isFlipped: isFlipped != next.isFlipped)
    }

    /// The orientation whose flip and turn undo those of this one.
    public var inverse: VideoOrientation {
        isFlipped ? self : VideoOrientation(quarterTurns: -quarterTurns)
    }
}
