import GStreamer
import MediaGraphCore

/// What a pipe does when its consumer is slower than the stream.
public enum BackPressure: Int32, PropertyEnum {
    case auto, block, dropOld, dropNew

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphBackPressure"

    /// The value's name in descriptions.
    public var nick: String {
        switch self {
        case .auto: "auto"
        case .block: "block"
        case .dropOld: "drop-old"
        case .dropNew: "drop-new"
        }
    }

    /// What the value means, for `inspect`.
    public var blurb: String {
        switch self {
        case .auto: "Drop old frames of a live stream, block any other"
        case .block: "Upstream waits; no frame is lost"
        case .dropOld: "The oldest waiting frame is dropped"
        case .dropNew: "The new frame is dropped"
        }
    }

    /// What it comes to for a stream of known liveness.
    func resolved(isLive: Bool) -> OverflowPolicy {
        switch self {
        case .auto: isLive ? .dropOldest : .block
        case .block: .block
        case .dropOld: .dropOldest
        case .dropNew: .dropNewest
        }
    }
}

/// Whether a pipe delivers frames at their time on the clock.
public enum Synchronization: Int32, PropertyEnum {
    case auto, on, off

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphSynchronization"

    /// The value's name in descriptions.
    public var nick: String {
        switch self {
        case .auto: "auto"
        case .on: "true"
        case .off: "false"
        }
    }

    /// What the value means, for `inspect`.
    public var blurb: String {
        switch self {
        case .auto: "As upstream is live or not"
        case .on: "Frames wait for their time"
        case .off: "Frames are delivered as they come"
        }
    }
}

/// What becomes of a stream when its handler or a delegate throws.
public enum DeliveryFailurePolicy: Int32, PropertyEnum {
    case stop, drop

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphDeliveryFailurePolicy"

    /// What the value means, for `inspect`.
    public var blurb: String {
        switch self {
        case .stop: "The graph ends with the error"
        case .drop:
            "Skip the frame for the handler or delegate that threw; warn about the first of several identical errors"
        }
    }
}

/// The properties of `rawdatapipe`.
struct PipeSettings: HandlerSettings {
    var handler = ""
    var options = ""
    var format = PipeFormat.auto
    var resolution = Resolution.native
    var memoryMode = MemoryMode.stack
    var backPressure = BackPressure.auto
    var maxFrames: Int32 = 2
    var synchronization = Synchronization.auto
    var bufferType = BufferType.raw
    var appliesRotation = false
    var appliesMirror = false
    var rendersEngine = false
    var onError = DeliveryFailurePolicy.stop

    /// What only raw frames have is refused for the other buffer types.
    func check(_ format: VideoFormat) throws(MediaGraphError) {
        if appliesRotation || appliesMirror {
            _ = try FrameTurner(format, rotates: appliesRotation, mirrors: appliesMirror)
        }
        guard bufferType != .raw else { return }
        let wrong: [(String, Bool)] = [
            ("resolution", resolution != .native), ("format", self.format != .auto),
            ("apply-rotation", appliesRotation), ("apply-mirror", appliesMirror),
        ]
        guard let property = wrong.first(where: { $0.1 })?.0 else { return }
        throw .invalidParameter(
            .init(
                property, actual: "can't be set with buffer-type=\(bufferType.nick)"))
    }
}
