import GStreamer

/// What a `devicesource` does when its device is missing or lost. If the device is a screen and its X server has ended,
/// the graph ends with an error in any case, because Xlib ends the process.
public enum ReconnectPolicy: Int32, PropertyEnum {
    /// The graph ends with the device's error.
    case never
    /// No data is sent, the stream's status is off, and GAP events advance the time downstream.
    case gap
    /// A black picture with a line of text, or silence, is sent at the stream's rate.
    case slate

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphReconnectPolicy"

    /// The value's description in `mediagraph inspect`.
    public var blurb: String {
        switch self {
        case .never: "The graph ends with an error that names the device"
        case .gap: "No data until the device returns; downstream is told that the stream is off"
        case .slate: "A black picture with a message, or silence, until the device returns"
        }
    }
}

/// Which default device a `devicesource` without a `source` captures from.
public enum DeviceKind: Int32, PropertyEnum {
    /// The default camera.
    case camera
    /// The default microphone.
    case microphone
    /// The default screen.
    case screen

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphDeviceKind"
    /// The value's description in `mediagraph inspect`.
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
    /// In nanoseconds; 0: silence never counts as a loss.
    var stallTimeout: UInt64 = 5_000_000_000

    /// The shortest time limits for opening a device and for its first data. A device that wakes up takes longer than
    /// the frame interval of one that runs.
    static let minimumTimeout = Duration.seconds(5)
    /// The shortest time limit for the second block of a sound server that was suspended. It sends one block at once,
    /// and the next after up to two seconds.
    static let wakeUpTimeout = Duration.seconds(3)
    /// The time limit for opening the device and for each step of the start, in a graph that can run without the
    /// device.
    static let startTimeout = Duration.seconds(2)
    /// The shortest time limit for a single call during the start, however long the calls before took.
    static let minimumCallTimeout = Duration.seconds(1)
    /// The time limit for closing the device. It is shorter than the time that a graph has to stop.
    static let closeTimeout = Duration.milliseconds(1500)
    /// The time limit for a device to end its stream after it was told to. A device whose server has ended accepts
    /// that, but never ends the stream.
    static let endOfStreamTimeout = Duration.seconds(1)
    /// The time limit for closing the device in a graph that continues, because the stand-in waits for it.
    static let removeTimeout = Duration.milliseconds(500)

    /// Returns a time limit as text for an error, such as `300 ms`, in the largest unit that gives a whole number.
    static func text(_ time: Duration) -> String {
        let nanoseconds = time.nanoseconds
        if nanoseconds.isMultiple(of: 1_000_000) { return "\(nanoseconds / 1_000_000) ms" }
        return nanoseconds.isMultiple(of: 1000) ? "\(nanoseconds / 1000) µs" : "\(nanoseconds) ns"
    }
}
