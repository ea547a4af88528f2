import GStreamer
import MediaGraphCore

/// Writes packed frames without a header, one after the other, as the SDKs dump them:
/// `rawdatapipe handler=raw options=location=dump.yuv`.
///
/// Frames have the pipe's `format` and `resolution`, and rows without padding. `videosource handler=raw` plays such a
/// file. Throws `unsupported` if the size or format changes, because the file can't represent the change.
struct RawVideoWriter: VideoConsumer, NamedHandler, InterruptibleHandler {
    static let name = "raw"
    static let summary = "Writes packed frames without a header, as the SDKs dump them"
    static let options = [
        HandlerOption("location", example: "dump.yuv", isOutput: true, "the file, or - for standard output")
    ]

    private struct Layout: Equatable, CustomStringConvertible {
        var width: Int
        var height: Int
        var format: VideoFormat
        var description: String { "\(width)×\(height) \(format.gstreamerName)" }
    }

    let interruption = Interruption()
    private let file: ByteWriter
    private var layout: Layout?

    init(options: HandlerOptions) throws {
        file = try ByteWriter(
            path: options.string("location"), option: "option location of raw", interruption: interruption)
    }

    mutating func receive(_ frame: borrowing VideoFrame) throws {
        let current = Layout(width: frame.width, height: frame.height, format: frame.format)
        if let layout, layout != current {
            throw MediaGraphError.unsupported(
                .init(
                    file.name,
                    actual:
                        "the frames change from \(layout) to \(current), but a raw file holds one size and format; "
                        + "put videoconvert ! videoscale and a caps filter before the pipe"))
        }
        layout = current
        try frame.withPackedRows { try file.write($0) }
    }

    mutating func finish() throws { try file.flush() }
}
