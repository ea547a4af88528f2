import GStreamer
import Glibc
import MediaGraphCore

/// A watermark's text that goes with the time.
struct ClockText {
    private let prefix: String
    private let format: String
    private let renderer: TextRenderer
    private var shown = ""
    /// The second that is shown, since 1970.
    private var second: time_t = 0

    /// `format` is strftime's. The first picture is drawn at once, so that what can't be drawn is known at the start.
    init(_ text: String?, _ format: String) throws(MediaGraphError) {
        prefix = text.map { "\($0) " } ?? ""
        self.format = format
        renderer = try TextRenderer.forMarks()
        second = time(nil)
        shown = prefix + Self.string(second, format)
    }

    /// The text as it is now.
    var picture: Picture {
        get throws(MediaGraphError) { try Self.draw(shown, with: renderer) }
    }

    /// A new picture when the text at this time, Unix nanoseconds, differs from the last; `nil` for the time now.
    mutating func picture(at captureTime: UInt64?) throws(MediaGraphError) -> Picture? {
        let now = time_t((captureTime ?? wallClockNanoseconds()) / 1_000_000_000)
        guard now != second else { return nil }
        second = now
        let text = prefix + Self.string(now, format)
        guard text != shown else { return nil }
        shown = text
        return try picture
    }

    private static func string(_ second: time_t, _ format: String) -> String {
        var (second, parts) = (second, tm())
        localtime_r(&second, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
            strftime(text.baseAddress!, 256, format, &parts) > 0 ? String(cString: text.baseAddress!) : ""
        }
    }

    /// Whether it is a line that can be drawn.
    static func check(_ text: String) throws(MediaGraphError) {
        guard 1...64 ~= text.count, !text.contains(where: \.isNewline) else {
            throw .invalidParameter(
                .init(
                    "option text of watermark", expected: "one line of 1 to 64 characters",
                    actual: text.contains(where: \.isNewline) ? "several lines" : "\(text.count)"))
        }
    }

    static func draw(_ text: String, with renderer: TextRenderer) throws(MediaGraphError) -> Picture {
        try check(text)
        do { return try renderer.draw(text) } catch {
            throw Picture.refusal(
                error, Watermark.name, "text", expected: "a text that can be seen and a font to draw it with")
        }
    }
}

extension TextRenderer {
    static func forMarks() throws(MediaGraphError) -> TextRenderer {
        do { return try TextRenderer() } catch {
            throw Picture.refusal(error, Watermark.name, "text", expected: "an element that draws text")
        }
    }
}
