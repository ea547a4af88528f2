import CGStreamer

/// Draws lines of text with GStreamer's `textoverlay`, in white with a dark outline, 48 pixels high. Drawing
/// a line takes one or two milliseconds. Use it on one thread at a time.
package final class TextRenderer {
    private let filter: BufferFilter
    private let canvas: VideoInfo
    private let caps: Caps

    package init() throws(Picture.Failure) {
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

    /// Whether a font is installed. Without one, Pango draws a box for every letter, or nothing, and reports no error.
    ///
    /// Compares the heights of two glyphs: all boxes have the same height within a few pixels, which vary from one
    /// drawing to the next, but a font's full stop is much lower than its "W".
    package static let hasFonts: Bool = {
        do throws(Picture.Failure) {
            let renderer = try TextRenderer()
            return try renderer.draw("W").visible.height > 2 * renderer.draw(".").visible.height
        } catch {
            // Other errors say nothing about fonts; they are reported when a text is drawn.
            return error != .empty
        }
    }()

    /// Returns a picture of the text. Throws `empty` if nothing of it is visible.
    package func draw(_ text: String) throws(Picture.Failure) -> Picture {
        // textoverlay parses the text as Pango markup; an unescaped "<" would cause a GLib warning.
        let escaped = takeString(g_markup_escape_text(text, -1)) ?? ""
        guard let background = Buffer(filledWith: 0, count: canvas.size) else {
            throw .failed("not enough memory for the text's picture")
        }
        // textoverlay drops buffers without a timestamp.
        background.access.presentationTimestamp = .zero
        let drawn: Buffer
        do {
            try filter.element.setProperty("text", to: escaped)
            drawn = try filter.apply(background, caps: caps)
        } catch {
            throw .failed("\(error)")
        }
        return try Picture(drawn, canvas)
    }
}
