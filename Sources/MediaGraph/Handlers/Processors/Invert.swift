import GStreamer

/// Inverts every colour: `preprocessor handler=invert`. Alpha stays.
struct Invert: VideoProcessor, NamedHandler {
    static let name = "invert"
    static let summary = "Inverts every colour"

    init(options: HandlerOptions) throws {}

    func process(_ frame: inout VideoFrame) throws -> Verdict {
        for plane in VideoFormat.Plane.allCases where plane != .alpha && frame.format.index(of: plane) != nil {
            // In limited range 16 and 235 change places: 251 − y, and 256 − c for chroma.
            let isLimited = frame.format.isYUV && frame.colorRange != .full
            let maximum: UInt8 = isLimited ? (plane == .y ? 251 : 0) : 255
            let alphaOffset = frame.format.alphaOffset
            var pixels = try frame.mutablePlane(plane)
            for index in 0..<pixels.height {
                var row = pixels.row(index)
                for byte in row.indices where alphaOffset == nil || byte & 3 != alphaOffset {
                    row[byte] = maximum &- row[byte]
                }
            }
        }
        return .pass
    }
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
