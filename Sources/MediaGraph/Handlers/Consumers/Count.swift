import GStreamer

/// Counts frames and does nothing else: `rawdatapipe handler=count`. The node's `stats` tell the number.
struct Count: VideoConsumer, NamedHandler {
    static let name = "count"
    static let summary = "Counts frames and does nothing else"

    init(options: HandlerOptions) throws {}

    func receive(_ frame: borrowing VideoFrame) throws {}
}
