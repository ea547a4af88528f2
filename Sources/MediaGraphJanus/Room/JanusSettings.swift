import Foundation
import MediaGraphCore
import MediaGraphSession

/// How a session reaches its room on a Janus server.
struct JanusSettings: Sendable, Hashable {
    var server: JanusServer
    var secrets = JanusSecrets()
    var ice = ICEServers()

    /// Reads a session's settings, and the secrets to which they refer. Throws `invalidParameter`.
    init(_ settings: RoomTransportSettings) throws(MediaGraphError) {
        guard !settings.server.isEmpty else {
            throw .invalidParameter(.init("server", expected: JanusServer.expected, actual: "nothing"))
        }
        server = try JanusServer(settings.server)
        secrets.apiSecret = try Self.secret(settings.apiSecret, of: "api-secret")
        secrets.token = try Self.secret(settings.token, of: "token")
        secrets.roomPIN = try Self.secret(settings.roomPIN, of: "room-pin")
        secrets.adminKey = try Self.secret(settings.adminKey, of: "admin-key")
        ice.stun = settings.stunServer
        guard ice.stun.isEmpty || Self.isServer(ice.stun, ["stun"]) else {
            throw .invalidParameter(.init("stun-server", expected: "stun://HOST:PORT", actual: "\"\(ice.stun)\""))
        }
        ice.turn = try Self.secret(settings.turnServer, of: "turn-server")?.value ?? ""
        guard ice.turn.isEmpty || Self.isServer(ice.turn, ["turn", "turns"]) else {
            // It contains a password.
            throw .invalidParameter(
                .init(
                    "turn-server",
                    expected: "a file or variable that contains turn://USER:PASSWORD@HOST:PORT or turns://…",
                    actual: "other contents"))
        }
    }

    /// Whether it is a URI as GStreamer wants it, with the slashes that RFC 7064 and RFC 7065 leave out.
    private static func isServer(_ text: String, _ schemes: [String]) -> Bool {
        guard let url = URLComponents(string: text), let scheme = url.scheme else { return false }
        return schemes.contains(scheme) && url.host?.isEmpty == false && text.hasPrefix("\(scheme)://")
    }

    private static func secret(_ reference: String, of property: String) throws(MediaGraphError) -> Secret? {
        reference.isEmpty ? nil : try Secret(reference, of: property)
    }
}
