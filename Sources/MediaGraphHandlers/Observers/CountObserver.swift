import GStreamer
import MediaGraphCore

/// Counts frames and does nothing else: `frameobserver handler=count`. The node's `stats` contain the number.
struct CountObserver: FrameObserver, NamedHandler {
    static let name = "count"
    static let summary = "Counts frames and does nothing else"
    static let options = [
        HandlerOption("format", default: "I420", "the format that the handler receives; other formats are converted")
    ]
    let preference: FramePreference

    static func validate(_ options: HandlerOptions) throws { _ = try Self(options: options) }

    init(options: HandlerOptions) throws {
        preference = FramePreference(format: try options.choice("format", default: .i420))
    }

    func observe(_ frame: borrowing VideoFrame) -> Verdict { .pass }
}
