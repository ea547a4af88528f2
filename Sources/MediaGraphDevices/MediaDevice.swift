import MediaGraphCore

/// A device that a description can use: what `mediagraph devices` lists.
public struct MediaDevice: Sendable, Hashable, Codable {
    /// What a device does.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        case camera, microphone, speaker, screen
        /// What takes pictures: a virtual camera (v4l2loopback) that nobody writes to, or a card's connector. A virtual camera is a
        /// ``camera`` while somebody does.
        case videoOutput = "video-output"

        /// As people read it.
        public var label: String { self == .videoOutput ? "video output" : rawValue }
    }

    /// What the device does.
    public var kind: Kind
    /// For people.
    public var name: String
    /// What its element knows it by: a path such as `/dev/video0`, or a sound server's name for it.
    public var path: String
    /// The text to paste into a description: `v4l2src device=/dev/video0`.
    public var text: String
    /// What is used where no device is named. `nil` where nobody says.
    public var isDefault: Bool?
    /// A microphone that is none: it hears what a speaker plays.
    public var isMonitor: Bool
    /// What it gives, or takes; empty where that isn't known.
    public var formats: [DeviceFormat]
    /// The programs that have it open, as `name (process)`, where that can be seen.
    public var users: [String]

    /// A device with these properties.
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
    /// The same device stays the same whoever uses it.
    struct ID: Hashable {
        var kind: Kind
        var text: String
    }

    var id: ID { ID(kind: kind, text: text) }
}

/// What happens to devices while somebody looks.
public enum DeviceChange: Sendable {
    /// It was there at first, or has come.
    case added(MediaDevice)
    case removed(MediaDevice)
    /// A sound server, an X server or a driver doesn't answer: what it has is as it was, until it does, and is told then as far
    /// as it has changed. Once for each time.
    case unanswered(MediaGraphError)
}
