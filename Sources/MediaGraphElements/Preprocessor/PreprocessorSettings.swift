import GStreamer

/// What becomes of a frame whose handler throws.
public enum FailurePolicy: Int32, PropertyEnum {
    case stop, pass, drop

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphFailurePolicy"
    /// What the value means, for `inspect`.
    public var blurb: String {
        switch self {
        case .stop: "The graph ends with the handler's error"
        case .pass: "The frame goes on as it came in: one copy a frame is kept for that"
        case .drop: "The frame goes no further"
        }
    }
}

/// What becomes of a frame whose handler took longer than `max-time`.
public enum LatePolicy: Int32, PropertyEnum {
    case pass, drop

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphLatePolicy"
    /// What the value means, for `inspect`.
    public var blurb: String {
        switch self {
        case .pass: "The frame goes on, late"
        case .drop: "The frame goes no further"
        }
    }
}

/// The properties of `preprocessor`.
struct PreprocessorSettings: HandlerSettings {
    var handler = ""
    var options = ""
    var onError = FailurePolicy.stop
    /// Nanoseconds; 0: any.
    var maxTime: UInt64 = 0
    var onLate = LatePolicy.pass

    /// What each frame is treated by: no strings, so that the streaming thread keeps a copy for nothing.
    struct FramePolicy: Sendable {
        var onError = FailurePolicy.stop
        var maxTime = UInt64.max
        var onLate = LatePolicy.pass
    }

    var framePolicy: FramePolicy {
        FramePolicy(onError: onError, maxTime: maxTime == 0 ? .max : maxTime, onLate: onLate)
    }
}
