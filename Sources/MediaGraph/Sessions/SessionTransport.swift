import MediaGraphDescription
import MediaGraphSession

/// How the users of a room reach each other.
///
/// ```swift
/// var context = SessionContext(user: "alice", room: "demo")
/// context.transport = .janus("http://192.168.1.2:8088/janus")
/// context.transport.roomPIN = "env:ROOM_PIN"
/// ```
///
/// A string literal is a transport's name, without further settings.
public struct SessionTransport: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The transport's name (the property `transport` of `mediasession`).
    public var name: String
    /// The address of the server (the property `server`): `http://HOST:8088/janus`, `https://HOST/janus`, or `unix:PATH` of
    /// a socket on this machine.
    public var server = ""
    /// The room's PIN (the property `room-pin`), as a reference: `env:NAME` for an environment variable, or `file:PATH`. The
    /// user who creates the room sets its PIN; later users need the same one. Empty: no PIN.
    public var roomPIN = ""
    /// The user's token (the SDKs' token), as `env:NAME` or `file:PATH`. Empty: none.
    public var token = ""
    /// The key for creating rooms, as `env:NAME` or `file:PATH` (the property `admin-key`). Empty: none.
    public var adminKey = ""
    /// The secret that every client of the server needs, as `env:NAME` or `file:PATH` (the property `api-secret`). Empty: none.
    public var apiSecret = ""
    /// The STUN server, which finds this machine's public address: `stun://HOST:PORT` (the property `stun-server`). Empty:
    /// none.
    public var stunServer = ""
    /// The TURN server, which relays media if no direct connection works: `env:NAME` or `file:PATH` that contains
    /// `turn://USER:PASSWORD@HOST:PORT` (the property `turn-server`). Empty: none.
    public var turnServer = ""
    /// The elements that encode raw video for `janus`, as VP8 or H.264, such as `x264enc tune=zerolatency bitrate=1000` (the
    /// property `video-encoder`). Empty: `vp8enc`. Video that arrives encoded is sent as it is.
    public var videoEncoder = ""

    /// Creates a transport of this name.
    public init(name: String) { self.name = name }

    /// Creates a transport of this name.
    public init(stringLiteral name: String) { self.init(name: name) }

    /// Reaches the programs of the same account on this machine, without a server. The default.
    public static let room = SessionTransport(name: RoomTransportKind.defaultName)

    /// Reaches programs on other machines through a Janus server at this address.
    public static func janus(_ server: String) -> SessionTransport {
        var transport = SessionTransport(name: "janus")
        transport.server = server
        return transport
    }

    /// The properties of `mediasession`, without defaults, each with a space before it.
    var text: String {
        let properties = [
            ("transport", self == .room ? "" : name), ("server", server), ("room-pin", roomPIN), ("token", token),
            ("admin-key", adminKey), ("api-secret", apiSecret), ("stun-server", stunServer),
            ("turn-server", turnServer), ("video-encoder", videoEncoder),
        ]
        return properties.filter { !$0.1.isEmpty }.map { " \($0.0)=\(DescriptionText.inQuotes($0.1))" }.joined()
    }
}
