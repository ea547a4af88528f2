import GStreamer
import Glibc
import MediaGraphCore

/// A watermark's text that shows the time.
struct ClockText {
    private let prefix: String
    private let format: String
    private let renderer: TextRenderer
    private var shown = ""
    /// The displayed time, in seconds since 1970.
    private var second: time_t = 0

    /// - Parameters:
    ///   - text: the text before the time.
    ///   - format: the time's format, as for strftime.
    init(_ text: String?, _ format: String) throws(MediaGraphError) {
        prefix = text.map { "\($0) " } ?? ""
        self.format = format
        renderer = try TextRenderer.forMarks()
        second = time(nil)
        shown = prefix + Self.string(second, format)
    }

    /// A picture of the current text. Reading it at the start detects text that can't be drawn.
    var picture: Picture {
        get throws(MediaGraphError) { try Self.draw(shown, with: renderer) }
    }

    /// Returns a new picture if the text differs from the last one; `nil` if it doesn't.
    ///
    /// - Parameter captureNanoseconds: the time to show, in nanoseconds since 1970; `nil` for the current time.
    mutating func picture(atUnixNanoseconds captureNanoseconds: UInt64?) throws(MediaGraphError) -> Picture? {
        let now = time_t((captureNanoseconds ?? wallClockNanoseconds()) / 1_000_000_000)
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

    /// Throws `invalidParameter` if the text isn't one line of 1 to 64 characters.
    static func check(_ text: String) throws(MediaGraphError) {
        guard 1...64 ~= text.count, !text.contains(where: \.isNewline) else {
            throw .invalidParameter(
                .init(
                    "option text of watermark", expected: "one line of 1 to 64 characters",
                    actual: text.contains(where: \.isNewline) ? "several lines" : "\(text.count) characters"))
        }
    }

    static func draw(_ text: String, with renderer: TextRenderer) throws(MediaGraphError) -> Picture {
        try check(text)
        do { return try renderer.draw(text) } catch { throw Picture.refusal(error, Watermark.name, "text") }
    }
}

extension TextRenderer {
    /// Creates a renderer for watermarks. Throws `unsupported` if an element for drawing text is missing.
    static func forMarks() throws(MediaGraphError) -> TextRenderer {
        do { return try TextRenderer() } catch { throw Picture.refusal(error, Watermark.name, "text") }
    }
}
