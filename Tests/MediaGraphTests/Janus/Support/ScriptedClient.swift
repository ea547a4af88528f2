import Foundation

@testable import MediaGraphJanus

/// A client that says only what a test tells it to, and keeps nothing alive.
final class ScriptedClient: Sendable {
    private let connection: any JanusConnection

    struct NoAnswer: Error {}

    init(_ server: JanusServer) throws { connection = server.connect(JanusSecrets()) }

    private func ask(_ content: JanusEnvelope.Content, _ session: UInt64?) async throws -> JanusMessage {
        let envelope = JanusEnvelope(
            content: content, transaction: "\(UUID())", session: session, secrets: JanusSecrets())
        try connection.send(JSONEncoder().encode(envelope))
        for await arrival in connection.arrivals {
            guard case .message(let message) = arrival else { throw NoAnswer() }
            if message.transaction == envelope.transaction { return message }
        }
        throw NoAnswer()
    }

    /// Joins a room that exists.
    func join(_ user: String, _ room: String) async throws {
        guard let session = try await ask(.create, nil).identifier,
            let handle = try await ask(.request(.attach), session).identifier
        else { throw NoAnswer() }
        let join = VideoRoomRequest.join(room: room, user: user, display: "", pin: nil, token: nil)
        _ = try await ask(.request(.message(handle: handle, join)), session)
    }

    /// Ends the connection without another word, as when the program is killed.
    func vanish() { connection.close() }
}
