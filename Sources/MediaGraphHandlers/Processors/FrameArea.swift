import GStreamer
import MediaGraphCore

/// A rectangle in fractions of the frame, which is independent of the frame's size: the options `x`, `y`, `width` and
/// `height` of a handler.
struct FrameArea {
    static let options = [
        HandlerOption("x", default: "0", "left edge of the rectangle, 0 to 1 of the frame's width"),
        HandlerOption("y", default: "0", "top edge, 0 to 1 of the frame's height"),
        HandlerOption("width", default: "1", "width, 0 to 1 of the frame's; parts outside the frame are cut off"),
        HandlerOption("height", default: "1", "height, 0 to 1 of the frame's"),
    ]

    private let x, y, width, height: Double

    init(_ options: HandlerOptions) throws(MediaGraphError) {
        x = try options.double("x", in: 0...1, default: 0)
        y = try options.double("y", in: 0...1, default: 0)
        width = try options.double("width", in: 0...1, default: 1)
        height = try options.double("height", in: 0...1, default: 1)
    }

    /// Returns the pixels that the rectangle touches. With `even`, extends them to even boundaries, for formats whose
    /// chroma has half the resolution.
    func pixels(width frameWidth: Int, height frameHeight: Int, even: Bool) -> (columns: Range<Int>, rows: Range<Int>) {
        (Self.pixels(x, width, of: frameWidth, even: even), Self.pixels(y, height, of: frameHeight, even: even))
    }

    private static func pixels(_ start: Double, _ length: Double, of total: Int, even: Bool) -> Range<Int> {
        guard length > 0 else { return 0..<0 }
        var first = Int((start * Double(total)).rounded(.down))
        var end = min(total, Int(((start + length) * Double(total)).rounded(.up)))
        if even {
            first -= first % 2
            end = min(total, end + end % 2)
        }
        return min(first, end)..<end
    }
}
