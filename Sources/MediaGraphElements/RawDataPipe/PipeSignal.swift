import GStreamer

/// A notification between a pipe's frames.
enum PipeSignal: DeliverySignal {
    case stream(StreamStart)
    case orientation(TaggedOrientation)
    case status(Bool)
    case alpha(PipeAlpha.Change)
    case end

    var isEnd: Bool { if case .end = self { true } else { false } }
    var mayPrecedeCaps: Bool {
        switch self {
        case .stream, .orientation, .alpha: true
        case .status, .end: false
        }
    }
}
