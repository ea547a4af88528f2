import GStreamer

/// A black picture with a line of text, to show while a camera is away.
final class Slate: Sendable {
    let buffer: Buffer

    /// Draws the picture. `nil` if GStreamer's elements for it are missing, or can't output the format.
    init?(_ text: String, _ info: VideoInfo) {
        // Without fonts, Pango would draw boxes.
        let overlay = TextRenderer.hasFonts ? "! textoverlay name=text valignment=center halignment=center" : ""
        let size = "width=\(info.width), height=\(info.height)"
        guard
            let pipeline = try? Pipeline(
                parsing: """
                    videotestsrc pattern=black num-buffers=1 ! video/x-raw, format=I420, \(size) \(overlay)
                    ! videoconvert ! video/x-raw, format=\(info.formatName), \(size) ! appsink name=end sync=false
                    """), let sink = pipeline.element(named: "end"), let end = AppSink(sink)
        else { return nil }
        pipeline.element(named: "text")?.configure("font-desc", parsing: "\"Sans \(max(6, info.height / 24))\"")
        pipeline.element(named: "text")?.configure("text", to: text)
        pipeline.setState(.playing)
        defer { pipeline.setState(.null) }
        guard let drawn = end.pull(timeout: .seconds(10))?.buffer else { return nil }
        buffer = drawn.deepCopy
    }
}
