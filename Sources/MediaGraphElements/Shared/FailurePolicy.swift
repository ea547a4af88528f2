import GStreamer
import MediaGraphCore

/// What happens to a frame whose handler throws.
public enum FailurePolicy: Int32, PropertyEnum {
    /// The graph ends with the handler's error.
    case stop
    /// The frame continues unedited. The node keeps a copy of each frame for this.
    case pass
    /// The frame is dropped.
    case drop

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphFailurePolicy"
    /// The value's description, as `inspect` prints it.
    public var blurb: String {
        switch self {
        case .stop: "The graph ends with the handler's error"
        case .pass: "The frame continues unedited; the node keeps a copy of each frame for this"
        case .drop: "The frame is dropped"
        }
    }
}

/// Applies `on-error` to the frames that a transform's handler failed on. Used on the streaming thread.
struct FailedFrames {
    private var last: MediaGraphError?

    /// Counts and reports a failure, and returns what becomes of the frame. `handler` is the subject of the report.
    mutating func add(
        _ error: MediaGraphError, of handler: String, _ policy: FailurePolicy, _ statistics: NodeStatistics,
        _ element: ElementImplementation, _ log: DebugCategory
    ) -> FlowReturn {
        let text = "\(element.name): \(handler) failed: \(error)"
        guard policy != .stop else {
            element.postError(.processing, text)
            return .error
        }
        statistics.failed.wrappingAdd(1, ordering: .relaxed)
        log.log(.warning, raw: element.instance.element, text)
        // Warns about the first of several equal errors, not thirty times a second; `failed` counts them all.
        if error != last { element.postWarning(.processing, text, debug: "on-error=\(policy.nick)") }
        last = error
        if policy == .pass {
            statistics.countFrame()
            return .ok
        }
        statistics.countDrop()
        return .dropped
    }
}
