import GStreamer
import MediaGraphCore

/// Inverts every colour: `preprocessor handler=invert`. Alpha stays.
///
/// RGB becomes `255 − c`, chroma `256 − c` (128 is no colour and stays so) and luma `255 − y`, in limited range
/// `251 − y`: 16 and 235 change places. Twice gives the picture back; only values outside the nominal range that have no
/// counterpart (limited luma above 251, chroma 0) end at the nearest there is, where wrapping around would turn glaring
/// white into glaring white.
struct Invert: VideoProcessor, NamedHandler {
    static let name = "invert"
    static let summary = "Inverts every colour"

    /// For packed formats, 0 for bytes of alpha and 255 for others; kept from frame to frame.
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

/// A row that has 0 in every byte of alpha and 255 in all others: masking with it leaves loops over bytes without a
/// branch, which the compiler then turns into vector instructions.
struct ByteMask {
    private var row: [UInt8] = []
    private var alphaOffset: Int?

    mutating func prepare(length: Int, except alphaOffset: Int?) {
        guard row.count < length || alphaOffset != self.alphaOffset else { return }
        self.alphaOffset = alphaOffset
        row = (0..<length).map { alphaOffset != nil && $0 % 4 == alphaOffset ? 0 : 255 }
    }

    /// The first bytes of it, `length` at most what was prepared.
    @_lifetime(borrow self)
    func bytes(_ length: Int) -> Span<UInt8> { row.span.extracting(first: length) }
}

extension VideoFormat {
    /// Where alpha lies in a packed pixel; `nil` where it has none or a plane of its own.
    var alphaOffset: Int? {
        switch self {
        case .bgra, .rgba: 3
        case .argb, .abgr: 0
        default: nil
        }
    }

    /// Where red, green and blue lie in a packed pixel; `nil` for YUV.
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
