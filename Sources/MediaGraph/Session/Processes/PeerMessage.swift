import GStreamer

/// What processes of a room tell each other: GStreamer's structures as text, one a message.
enum PeerMessage: Sendable {
    /// First on every connection: who is there.
    case hello(users: [String])
    case joined(String)
    case left(String)
    /// The other side wants a stream of this one's, or no longer.
    case read(StreamKey)
    case unread(StreamKey)
    // What a stream's readers are told.
    case begin(StreamKey)
    case caps(StreamKey, Caps)
    /// How much later than its timestamps a buffer may come.
    case latency(StreamKey, ClockTime)
    case status(StreamKey, Bool)
    /// Its bytes lie in shared memory; the message has that memory's file the first time.
    case buffer(StreamKey, SharedBuffer)
    /// The bytes are no longer needed.
    case release(memory: UInt64)
    /// The memory won't be used again.
    case forget(memory: UInt64)

    /// Raised when processes of different versions could no longer talk.
    static let version: UInt32 = 1

    var text: String { structure.description }

    private var structure: Structure {
        switch self {
        case .hello(let users):
            // A name has no slash.
            Structure("hello", [("version", Self.version), ("users", users.joined(separator: "/"))])
        case .joined(let user): Structure("joined", [("user", user)])
        case .left(let user): Structure("left", [("user", user)])
        case .read(let key): Structure("read", key.fields)
        case .unread(let key): Structure("unread", key.fields)
        case .begin(let key): Structure("begin", key.fields)
        case .caps(let key, let caps): Structure("caps", key.fields + [("caps", "\(caps)")])
        case .latency(let key, let time): Structure("latency", key.fields + [("time", time.nanoseconds)])
        case .status(let key, let isOn): Structure("status", key.fields + [("on", isOn)])
        case .buffer(let key, let buffer): Structure("buffer", key.fields + buffer.fields)
        case .release(let memory): Structure("release", [("memory", memory)])
        case .forget(let memory): Structure("forget", [("memory", memory)])
        }
    }

    /// `nil` for what is no message of this version.
    init?(_ text: String) {
        guard let structure = Structure(parsing: text) else { return nil }
        let user: String? = structure["user"]
        let key = StreamKey(structure)
        switch structure.name {
        case "hello":
            guard structure["version"] == Self.version, let users: String = structure["users"] else { return nil }
            self = .hello(users: users.split(separator: "/").map(String.init))
        case "joined":
            guard let user else { return nil }
            self = .joined(user)
        case "left":
            guard let user else { return nil }
            self = .left(user)
        case "release":
            guard let memory: UInt64 = structure["memory"] else { return nil }
            self = .release(memory: memory)
        case "forget":
            guard let memory: UInt64 = structure["memory"] else { return nil }
            self = .forget(memory: memory)
        default:
            guard let key else { return nil }
            self.init(structure, key)
        }
    }

    private init?(_ structure: Structure, _ key: StreamKey) {
        switch structure.name {
        case "read": self = .read(key)
        case "unread": self = .unread(key)
        case "begin": self = .begin(key)
        case "caps":
            guard let text: String = structure["caps"], let caps = Caps(text), caps.isFixed else { return nil }
            self = .caps(key, caps)
        case "latency":
            guard let time: UInt64 = structure["time"] else { return nil }
            self = .latency(key, ClockTime(nanoseconds: time))
        case "status":
            guard let isOn: Bool = structure["on"] else { return nil }
            self = .status(key, isOn)
        case "buffer":
            guard let buffer = SharedBuffer(structure) else { return nil }
            self = .buffer(key, buffer)
        default: return nil
        }
    }
}

extension StreamKey {
    fileprivate var fields: [(String, any ValueConvertible)] { [("user", user), ("kind", kind.rawValue)] }

    fileprivate init?(_ structure: Structure) {
        guard let user: String = structure["user"], let name: String = structure["kind"],
            let kind = StreamKind(rawValue: name)
        else { return nil }
        self.init(user: user, kind: kind)
    }
}
