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
        ice = ICEServers(
            stun: settings.stunServer, turn: try Self.secret(settings.turnServer, of: "turn-server")?.value ?? "")
    }

    private static func secret(_ reference: String, of property: String) throws(MediaGraphError) -> Secret? {
        reference.isEmpty ? nil : try Secret(reference, of: property)
    }
}
