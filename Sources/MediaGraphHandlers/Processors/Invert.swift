import GStreamer
import MediaGraphCore

/// Inverts every color: `preprocessor handler=invert`. Alpha stays.
///
/// RGB becomes `255 − c`, chroma `256 − c` (128 is gray and stays), and luma `255 − y`, or `251 − y` in limited range,
/// which swaps 16 and 235. Inverting twice restores the picture, except for values outside the nominal range that have
/// no counterpart (limited luma above 251, chroma 0): these become the nearest valid value. Wrapping around would leave
/// over-bright white as it is.
struct Invert: VideoProcessor, NamedHandler {
    static let name = "invert"
    static let summary = "Inverts every color"

    /// The mask of packed formats, which is reused for each frame.
    private var mask = ByteMask()

    init(options: HandlerOptions) throws {}

    mutating func process(_ frame: inout VideoFrame) throws -> Verdict {
        let format = frame.format
        let isLimited = format.isYUV && frame.colorRange != .full
        for plane in format.planes where plane != .alpha {
            var pixels = try frame.mutablePlane(plane)
            switch plane {
            case .y: Self.subtract(from: isLimited ? 251 : 255, &pixels)
            case .packed:
                mask.prepare(length: pixels.rowLength, except: format.alphaOffset)
                Self.invert(packed: &pixels, mask.bytes(pixels.rowLength))
            default: Self.invert(chroma: &pixels)
            }
        }
        return .pass
    }

    private static func subtract(from maximum: UInt8, _ plane: inout MutableVideoPlane) {
        for y in 0..<plane.height {
            var row = plane.row(y)
            for x in row.indices { row[x] = maximum &- min(row[x], maximum) }
        }
    }

    private static func invert(chroma plane: inout MutableVideoPlane) {
        for y in 0..<plane.height {
            var row = plane.row(y)
            for x in row.indices { row[x] = 255 &- max(row[x], 1) &+ 1 }
        }
    }

    private static func invert(packed plane: inout MutableVideoPlane, _ mask: Span<UInt8>) {
        for y in 0..<plane.height {
            var row = plane.row(y)
            precondition(row.count == mask.count)
            for x in row.indices { row[x] ^= mask[x] }
        }
    }
}

/// A row with 0 in every byte of alpha and 255 in all others. With this mask, loops over bytes need no branch, so the
/// compiler vectorizes them.
struct ByteMask {
    private var row: [UInt8] = []
    private var alphaOffset: Int?

    mutating func prepare(length: Int, except alphaOffset: Int?) {
        guard row.count < length || alphaOffset != self.alphaOffset else { return }
        self.alphaOffset = alphaOffset
        row = (0..<length).map { alphaOffset != nil && $0 % 4 == alphaOffset ? 0 : 255 }
    }

    /// Returns the first `length` bytes of the mask, at most as many as were prepared.
    @_lifetime(borrow self)
    func bytes(_ length: Int) -> Span<UInt8> { row.span.extracting(first: length) }
}

extension VideoFormat {
    /// The offset of alpha in a packed pixel; `nil` if the format has no alpha, or alpha in a separate plane.
    var alphaOffset: Int? {
        switch self {
        case .bgra, .rgba: 3
        case .argb, .abgr: 0
        default: nil
        }
    }

    /// The offsets of red, green and blue in a packed pixel; `nil` for YUV.
    var colorOffsets: (red: Int, green: Int, blue: Int)? {
        switch self {
        case .bgra, .bgr24: (2, 1, 0)
        case .rgba, .rgb24: (0, 1, 2)
        case .argb: (1, 2, 3)
        case .abgr: (3, 2, 1)
        default: nil
        }
    }
}
