import CGStreamer

/// The result of passing on a buffer (`GstFlowReturn`).
public enum FlowReturn: Sendable {
    /// The buffer was accepted (`GST_FLOW_OK`).
    case ok
    /// The stream has ended (`GST_FLOW_EOS`).
    case endOfStream
    /// The pad is flushing or isn't active (`GST_FLOW_FLUSHING`).
    case flushing
    /// The pad isn't linked (`GST_FLOW_NOT_LINKED`).
    case notLinked
    /// The pad has no caps, or its caps were refused (`GST_FLOW_NOT_NEGOTIATED`).
    case notNegotiated
    /// An error occurred, which an element has posted on the bus (`GST_FLOW_ERROR`, or any other failure).
    case error
    /// The transform dropped the buffer, which isn't an error (`GST_BASE_TRANSFORM_FLOW_DROPPED`).
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
