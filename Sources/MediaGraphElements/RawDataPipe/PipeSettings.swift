import GStreamer
import MediaGraphCore

/// What a pipe does when its handler or a delegate is slower than the stream.
public enum BackPressure: Int32, PropertyEnum {
    /// `dropOld` for a live stream, `block` for any other.
    case auto
    /// Upstream waits, and no frame is lost.
    case block
    /// The oldest waiting frame is dropped.
    case dropOld
    /// The new frame is dropped.
    case dropNew

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

    /// The value's description, as `inspect` prints it.
    public var blurb: String {
        switch self {
        case .auto: "Drop old frames of a live stream, block any other stream"
        case .block: "Upstream waits; no frame is lost"
        case .dropOld: "The oldest waiting frame is dropped"
        case .dropNew: "The new frame is dropped"
        }
    }

    /// Returns the queue's policy for a live or a non-live stream.
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
    /// `on` for a live stream, `off` for any other.
    case auto
    /// Each frame waits for its time on the clock.
    case on
    /// Each frame is delivered when it arrives.
    case off

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

    /// The value's description, as `inspect` prints it.
    public var blurb: String {
        switch self {
        case .auto: "true for a live stream, false for any other stream"
        case .on: "Each frame waits for its time on the clock"
        case .off: "Each frame is delivered when it arrives"
        }
    }
}

/// The form in which frames leave a pipe's pad `src`.
public enum SourceFormat: Int32, PropertyEnum {
    /// As they arrive.
    case unchanged
    /// As the handler gets them.
    case asDelivered

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphSourceFormat"

    /// The value's name in descriptions.
    public var nick: String {
        switch self {
        case .unchanged: "unchanged"
        case .asDelivered: "as-delivered"
        }
    }

    /// The value's description, as `inspect` prints it.
    public var blurb: String {
        switch self {
        case .unchanged: "The frames as they arrive, with engine-render=true"
        case .asDelivered: "The frames as the handler gets them: converted, scaled, turned and mirrored"
        }
    }
}

/// The properties of `rawdatapipe`.
struct PipeSettings: HandlerSettings {
    var handler = ""
    var options = ""
    var format = PipeFormat.auto
    var resolution = Resolution.native
    var memoryMode = MemoryModeSetting()
    var backPressure = BackPressure.auto
    var maxFrames: Int32 = 2
    var synchronization = Synchronization.auto
    var bufferType = BufferType.raw
    var appliesRotation = false
    var appliesMirror = false
    var rendersEngine = false
    var sourceFormat = SourceFormat.unchanged
    var onError = FailurePolicy.stop

    /// Whether frames that have an alpha plane may keep it. `videoflip` can't turn or mirror them.
    var allowsAlpha: Bool { format == .auto && !appliesRotation && !appliesMirror }

    /// Throws if frames in this format can't be turned or mirrored as set.
    func checkTurning(_ format: VideoFormat) throws(MediaGraphError) {
        guard appliesRotation || appliesMirror else { return }
        _ = try FrameTurner(format, rotates: appliesRotation, mirrors: appliesMirror)
    }

    /// Throws if a property is set that the buffer type doesn't allow.
    func checkBufferType() throws(MediaGraphError) {
        let wrong: [(String, Bool)] = [
            ("resolution", resolution != .native), ("format", format != .auto), ("apply-rotation", appliesRotation),
            ("apply-mirror", appliesMirror), ("src-format", sourceFormat != .unchanged),
        ]
        guard let property = wrong.first(where: { $0.1 && !bufferType.allows($0.0) })?.0 else { return }
        throw .invalidParameter(.init(property, actual: "can't be set with buffer-type=\(bufferType.nick)"))
    }
}

extension BufferType {
    /// Returns whether a pipe of this type may convert its frames as the property says. Native frames are converted only
    /// to a format.
    func allows(_ property: String) -> Bool {
        switch self {
        case .raw: true
        case .native: !["resolution", "apply-rotation", "apply-mirror", "src-format"].contains(property)
        case .encoded: !["resolution", "format", "apply-rotation", "apply-mirror", "src-format"].contains(property)
        }
    }
}
