import GStreamer

/// What a `devicesource` does when its device goes.
public enum ReconnectPolicy: Int32, PropertyEnum {
    /// The graph ends with the device's error.
    case never
    /// Nothing comes, the stream's status is off, and time goes on downstream by GAP events.
    case gap
    /// A black picture with a line of text at the stream's rate, or silence.
    case slate

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphReconnectPolicy"

    /// What the value means, for `inspect`.
    public var blurb: String {
        switch self {
        case .never: "The graph ends with an error that names the device"
        case .gap: "Nothing until it is back; downstream is told that the stream is off"
        case .slate: "A black picture that says so, or silence, until it is back"
        }
    }
}

/// What a `devicesource` without a `source` takes: the machine's default one.
public enum DeviceKind: Int32, PropertyEnum {
    case camera, microphone, screen

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphDeviceKind"
    /// What the value means, for `inspect`.
    public var blurb: String { "The default \(nick)" }

    var kind: MediaDevice.Kind {
        switch self {
        case .camera: .camera
        case .microphone: .microphone
        case .screen: .screen
        }
    }
}

struct DeviceSettings: Sendable {
    var source = ""
    var kind = DeviceKind.camera
    var reconnect = ReconnectPolicy.never
    /// Milliseconds; 0 is never.
    var stallTimeout: UInt64 = 5000

    /// Milliseconds that a device has to answer who opens it, and to give something: one that wakes up takes longer than the
    /// pictures of one that runs.
    static let leastPatience: UInt64 = 5000
    /// The same of a sound server that has just woken up for somebody: it gives him a block at once, and the next when it has
    /// slept out, which is up to two seconds.
    static let wakingPatience: UInt64 = 3000
    /// The same where a graph is to start that can go on without the device: to be opened, and for each step of its start.
    static let startPatience: UInt64 = 2000
    /// Each answer may take as long, whatever the ones before took.
    static let leastPatienceForAnswer: UInt64 = 1000
    /// Where it is to be closed: less than a graph has to stop.
    static let closingPatience: UInt64 = 1500
    /// In which a device that was told to end its stream has done so: one whose server has gone accepts that, and never does.
    static let endingPatience: UInt64 = 1000
    /// As `closingPatience`, in a graph that goes on: its stand-in waits for that.
    static let leavingPatience: UInt64 = 500
}
