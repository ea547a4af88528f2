/// How a picture lies in its frame: one of the eight ways that Exif and the tag `image-orientation` know. Flipped left to
/// right where `isFlipped`, then turned clockwise, the picture stands upright.
public struct VideoOrientation: Sendable, Hashable {
    /// Turns of 90 degrees clockwise, 0 to 3; after the flip.
    public let quarterTurns: Int32
    public let isFlipped: Bool

    public static let upright = VideoOrientation()

    /// Counts turns beyond a whole one, and those to the left, as the turns to the right that they come to.
    public init(quarterTurns: Int32 = 0, isFlipped: Bool = false) {
        self.quarterTurns = quarterTurns & 3
        self.isFlipped = isFlipped
    }

    public static let all = [false, true].flatMap { isFlipped in
        (0..<4).map { VideoOrientation(quarterTurns: $0, isFlipped: isFlipped) }
    }

    /// Degrees clockwise.
    public var degrees: Int32 { quarterTurns * 90 }

    /// Whether width and height change places when the picture is made upright.
    public var swapsSides: Bool { quarterTurns & 1 != 0 }

    /// What one value of a meta says: the degrees, and 360 more where the picture is flipped.
    public var code: Int32 { degrees + (isFlipped ? 360 : 0) }

    public init?(code: Int32) {
        guard (0..<720).contains(code), code % 90 == 0 else { return nil }
        self.init(quarterTurns: code / 90 % 4, isFlipped: code >= 360)
    }

    /// The value of the tag `image-orientation`.
    public var tag: String { "\(isFlipped ? "flip-" : "")rotate-\(degrees)" }

    public init?(tag: String) {
        guard let known = Self.all.first(where: { $0.tag == tag }) else { return nil }
        self = known
    }

    /// The `video-direction` by which `videoflip` makes such a picture upright.
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

    /// Both changes as one, `next` after this one.
    public func followed(by next: VideoOrientation) -> VideoOrientation {
        // To turn and then to flip is to flip and then to turn the other way.
        VideoOrientation(
            quarterTurns: next.quarterTurns + (next.isFlipped ? -quarterTurns : quarterTurns),
            isFlipped: isFlipped != next.isFlipped)
    }

    /// What undoes it.
    public var inverse: VideoOrientation {
        isFlipped ? self : VideoOrientation(quarterTurns: -quarterTurns)
    }
}
