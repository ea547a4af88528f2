import GStreamer
import MediaGraphCore

/// Inverts every color: `frameobserver mode=read-write handler=invert`. See `Invert`.
struct InvertEditor: FrameEditor, NamedHandler {
    static let name = "invert"
    static let summary = "Inverts every color; needs mode=read-write"
    static let options = [HandlerOption("format", default: "I420", "the format in which frames are edited")]
    let preference: FramePreference
    private var invert: Invert

    static func validate(_ options: HandlerOptions) throws { _ = try Self(options: options) }

    init(options: HandlerOptions) throws {
        preference = FramePreference(format: try options.choice("format", default: .i420))
        invert = try Invert(options: options)
    }

    mutating func edit(_ frame: inout VideoFrame) throws -> Verdict { try invert.process(&frame) }
}
