import GStreamer

/// What happens to a frame whose handler took longer than `max-time`.
public enum LatePolicy: Int32, PropertyEnum {
    /// The frame continues, late.
    case pass
    /// The frame is dropped.
    case drop

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphLatePolicy"
    /// The value's description, as `inspect` prints it.
    public var blurb: String {
        switch self {
        case .pass: "The frame continues, late"
        case .drop: "The frame is dropped"
        }
    }
}

/// The properties of `preprocessor`.
struct PreprocessorSettings: HandlerSettings {
    var handler = ""
    var options = ""
    var onError = FailurePolicy.stop
    /// In nanoseconds; 0 for no limit.
    var maxTime: UInt64 = 0
    var onLate = LatePolicy.pass

    /// The settings that apply to each frame. Contains no strings, so that the streaming thread copies them at no cost.
    struct FramePolicy: Sendable {
        var onError = FailurePolicy.stop
        var maxTime = UInt64.max
        var onLate = LatePolicy.pass
    }

    var framePolicy: FramePolicy {
        FramePolicy(onError: onError, maxTime: maxTime == 0 ? .max : maxTime, onLate: onLate)
    }
}
