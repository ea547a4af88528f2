import GStreamer
import MediaGraph

/// Darkens a picture towards its corners: `preprocessor handler=vignette options="strength=0.8"`.
public struct Vignette: VideoProcessor, NamedHandler {
    /// The handler's name in descriptions.
    public static let name = "vignette"
    /// The line that `mediagraph inspect` shows.
    public static let summary = "Darkens a picture towards its corners"
    /// The options that `options=` may set.
    public static let options = [HandlerOption("strength", default: "0.7", "from 0, no effect, to 1, black corners")]
    /// The formats in which the node passes frames to the handler.
    public static let formats: [VideoFormat] = [.i420]

    private let strength: Double
    /// The gain of each pixel in 256ths, row by row, for frames of `size`.
    private var gains: [UInt16] = []
    private var size = (width: 0, height: 0)

    /// Checks options for `mediagraph check`. Creating the handler has no side effects, so it can be used here.
    public static func validate(_ options: HandlerOptions) throws { _ = try Self(options: options) }

    /// Creates the handler; throws if an option is unknown or out of range.
    public init(options: HandlerOptions) throws {
        strength = try options.double("strength", in: 0...1, default: 0.7)
    }

    /// Darkens a frame in place. Called on the streaming thread.
    public mutating func process(_ frame: inout VideoFrame) throws -> Verdict {
        if size != (frame.width, frame.height) { prepare(frame.width, frame.height) }
        // Black is 16 in limited range, which most video uses.
        let black: Int32 = frame.colorRange == .full ? 0 : 16
        try frame.withMutablePlanes(.y, .u, .v) { luma, u, v in
            for y in 0..<luma.height {
                var row = luma.row(y)
                for x in row.indices { Self.darken(&row[x], towards: black, gains[y * size.width + x]) }
            }
            // Reduces chroma too; otherwise dark colors would look too saturated. In I420, chroma has half the width
            // and height.
            for y in 0..<u.height {
                var uRow = u.row(y)
                var vRow = v.row(y)
                for x in uRow.indices {
                    let gain = gains[2 * y * size.width + 2 * x]
                    Self.darken(&uRow[x], towards: 128, gain)
                    Self.darken(&vRow[x], towards: 128, gain)
                }
            }
        }
        return .pass
    }

    private static func darken(_ value: inout UInt8, towards middle: Int32, _ gain: UInt16) {
        value = UInt8(clamping: middle + (Int32(value) - middle) * Int32(gain) / 256)
    }

    private mutating func prepare(_ width: Int, _ height: Int) {
        size = (width, height)
        let (centerX, centerY) = (Double(width - 1) / 2, Double(height - 1) / 2)
        gains = (0..<width * height).map { index in
            let x = (Double(index % width) - centerX) / max(centerX, 0.5)
            let y = (Double(index / width) - centerY) / max(centerY, 0.5)
            // The squared distance is 0 in the center and 2 in the corners.
            return UInt16(256 * (1 - strength * (x * x + y * y) / 2))
        }
    }
}
