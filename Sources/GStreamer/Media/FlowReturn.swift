import CGStreamer

/// What became of a buffer that was pushed (`GstFlowReturn`).
public enum FlowReturn: Sendable {
    case ok, endOfStream, flushing, notLinked, notNegotiated, error
    /// The transform keeps the buffer to itself: it goes no further, and that is no error.
    case dropped

    @inlinable
    package var raw: GstFlowReturn {
        switch self {
        case .ok: GST_FLOW_OK
        case .endOfStream: GST_FLOW_EOS
        case .flushing: GST_FLOW_FLUSHING
        case .notLinked: GST_FLOW_NOT_LINKED
        case .notNegotiated: GST_FLOW_NOT_NEGOTIATED
        case .error: GST_FLOW_ERROR
        case .dropped: GST_FLOW_CUSTOM_SUCCESS  // GST_BASE_TRANSFORM_FLOW_DROPPED
        }
    }

    package init(_ raw: GstFlowReturn) {
        switch raw {
        case GST_FLOW_OK: self = .ok
        case GST_FLOW_EOS: self = .endOfStream
        case GST_FLOW_FLUSHING: self = .flushing
        case GST_FLOW_NOT_LINKED: self = .notLinked
        case GST_FLOW_NOT_NEGOTIATED: self = .notNegotiated
        case GST_FLOW_CUSTOM_SUCCESS: self = .dropped
        default: self = .error
        }
    }
}
