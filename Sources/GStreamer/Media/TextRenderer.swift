import CGStreamer

/// Draws lines of text with GStreamer's `textoverlay`: white with a dark outline, 48 pixels high. A line takes a
/// millisecond or two. Belongs to one thread at a time.
public final class TextRenderer {
    private let filter: BufferFilter
    private let canvas: VideoInfo
    private let caps: Caps

    public init() throws(Picture.Failure) {
        GStreamerRuntime.initialize()
        canvas = VideoInfo(.bgra, width: 4096, height: 128, framesPerSecond: Fraction(1, 1))!
        caps = canvas.caps
        do {
            filter = try BufferFilter("textoverlay", sinkPad: "video_sink")
            for (property, value) in [
                ("wrap-mode", "none"), ("auto-resize", "false"), ("font-desc", "Sans Bold 48px"),
                ("halignment", "center"), ("valignment", "center"),
            ] { try filter.set(property, to: value) }
        } catch let error as BufferFilterError {
            if case .noSuchElement = error {
                throw .missingElement("textoverlay", package: "gstreamer1.0-plugins-base")
            }
            throw .failed("\(error)")
        } catch {
            throw .failed("\(error)")
        }
    }

    /// False where no font is installed: Pango then draws a box for every letter, or nothing, and says nothing of it.
    ///
    /// Boxes are of much the same height, to a few pixels that differ from one drawing to the next; a full stop is flat.
    public static let hasFonts: Bool = {
        do throws(Picture.Failure) {
            let renderer = try TextRenderer()
            return try renderer.draw("W").visible.height > 2 * renderer.draw(".").visible.height
        } catch {
            // Why else nothing can be drawn is told where something is to be.
            return error != .empty
        }
    }()

    /// A picture of the text; throws `empty` when nothing of it can be seen.
    public func draw(_ text: String) throws(Picture.Failure) -> Picture {
        // textoverlay reads Pango's markup, and a "<" that is none would be a GLib warning.
        let escaped = takeString(g_markup_escape_text(text, -1)) ?? ""
        guard let paper = Buffer(filledWith: 0, count: canvas.size) else { throw .failed("no memory") }
        // textoverlay drops what has no timestamp.
        paper.access.presentationTimestamp = .zero
        let drawn: Buffer
        do {
            try filter.element.setProperty("text", to: escaped)
            drawn = try filter.apply(paper, caps: caps)
        } catch {
            throw .failed("\(error)")
        }
        return try Picture(drawn, canvas)
    }
}
