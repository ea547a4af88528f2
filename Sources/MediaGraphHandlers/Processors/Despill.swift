import GStreamer
import MediaGraphCore

/// Removes the light that a green or blue screen reflects onto the foreground: `preprocessor handler=despill`.
///
/// Reduces a pixel's green (or blue) to the larger of its other two components, by `strength`. Only pixels in which the
/// screen's color is the largest component change, so skin, white and yellow stay. Alpha stays.
struct Despill: VideoProcessor, NamedHandler {
    static let name = "despill"
    static let summary = "Removes the light of a green or blue screen from the foreground"
    static let options = [
        HandlerOption("color", default: "green", "the screen's color: green or blue"),
        HandlerOption("strength", default: "1", "from 0 (no change) to 1 (full effect)"),
    ]
    static let formats: [VideoFormat] = [.bgra, .rgba, .argb, .abgr, .rgb24, .bgr24]

    private enum Screen: String, CaseIterable { case green, blue }

    private let screen: Screen
    /// The strength in units of 1/256.
    private let strength: Int16

    static func validate(_ options: HandlerOptions) throws { _ = try Self(options: options) }

    init(options: HandlerOptions) throws {
        screen = try options.choice("color", default: .green)
        strength = Int16((try options.double("strength", in: 0...1, default: 1) * 256).rounded())
    }

    func process(_ frame: inout VideoFrame) throws -> Verdict {
        guard let (red, green, blue) = frame.format.colorOffsets else {
            throw MediaGraphError.unsupported(.init("despill", expected: "RGB", actual: frame.format.gstreamerName))
        }
        let (spilled, other) = screen == .green ? (green, blue) : (blue, green)
        let strength = strength
        var pixels = try frame.mutablePlane(.packed)
        let step = pixels.pixelStride
        for y in 0..<pixels.height {
            var row = pixels.row(y)
            var pixel = 0
            while pixel < row.count {
                let value = Int32(row[pixel + spilled])
                let excess = max(0, value - Int32(max(row[pixel + red], row[pixel + other])))
                row[pixel + spilled] = UInt8(truncatingIfNeeded: value - (excess * Int32(strength) + 128) >> 8)
                pixel += step
            }
        }
        return .pass
    }
}
