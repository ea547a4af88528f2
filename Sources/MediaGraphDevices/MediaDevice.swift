import MediaGraphCore

/// A device that descriptions can use, as `mediagraph devices` lists it.
public struct MediaDevice: Sendable, Hashable, Codable {
    /// A kind of device.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// A source of video.
        case camera
        /// A source of sound.
        case microphone
        /// An output for sound.
        case speaker
        /// A screen that can be captured.
        case screen
        /// An output for video: the connector of a video card, or a virtual camera (v4l2loopback) that no program
        /// writes to. While a program writes to it, a virtual camera is a ``camera``.
        case videoOutput = "video-output"

        /// The kind's display name.
        public var label: String { self == .videoOutput ? "video output" : rawValue }
    }

    /// The kind of device.
    public var kind: Kind
    /// The device's display name.
    public var name: String
    /// The name by which its element selects the device: a path such as `/dev/video0`, or a name from the sound server.
    public var path: String
    /// The text for a description, such as `v4l2src device=/dev/video0`.
    public var text: String
    /// Whether the device is used if none is named; `nil` if that isn't known.
    public var isDefault: Bool?
    /// Whether the device is the monitor of a speaker, which captures the speaker's output.
    public var isMonitor: Bool
    /// The formats that the device produces or accepts; empty if they aren't known.
    public var formats: [DeviceFormat]
    /// The programs that have the device open, as `name (process)`, as far as this process may see them.
    public var users: [String]

    /// Creates a device.
    public init(
        kind: Kind, name: String, path: String, text: String, isDefault: Bool?, isMonitor: Bool,
        formats: [DeviceFormat], users: [String]
    ) {
        self.kind = kind
        self.name = name
        self.path = path
        self.text = text
        self.isDefault = isDefault
        self.isMonitor = isMonitor
        self.formats = formats
        self.users = users
    }
}

extension MediaDevice {
    /// Identifies a device, whatever its users and formats.
    struct ID: Hashable {
        var kind: Kind
        var text: String
    }

    var id: ID { ID(kind: kind, text: text) }
}

/// A change that ``MediaDevices/changes`` reports.
public enum DeviceChange: Sendable {
    /// The device was present at the start, or was added.
    case added(MediaDevice)
    /// The device was removed.
    case removed(MediaDevice)
    /// A sound server, an X server or a driver has stopped answering. Its devices are assumed to be unchanged until it
    /// answers again; their changes are reported then. Reported once each time it stops answering.
    case unanswered(MediaGraphError)
}
