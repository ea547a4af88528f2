import GStreamer
import MediaGraphCore

/// Counts frames and does nothing else: `rawdatapipe handler=count`. The node's `stats` contain the number. Accepts
/// every `buffer-type`.
struct Count: VideoConsumer, NamedHandler {
    static let name = "count"
    static let summary = "Counts frames and does nothing else"

    init(options: HandlerOptions) throws {}

    func receive(_ frame: borrowing VideoFrame) throws {}
    func receive(_ frame: borrowing NativeVideoFrame) throws {}
    func receive(_ frame: borrowing EncodedVideoFrame) throws {}
}
