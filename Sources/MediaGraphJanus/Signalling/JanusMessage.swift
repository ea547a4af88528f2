import WebRTC

/// A request of a client to a Janus server. ``JanusClient`` adds the transaction, the session and the secrets.
package enum JanusRequest: Sendable {
    /// Creates a handle of the plugin VideoRoom. A handle has at most one PeerConnection.
    case attach
    /// Ends a handle.
    case detach(handle: UInt64)
    /// Passes a message to the plugin, perhaps with a session description.
    case message(handle: UInt64, VideoRoomRequest, SessionDescription? = nil)
    /// Passes on an ICE candidate.
    case trickle(handle: UInt64, ICECandidate)
}

/// What a client sends.
struct JanusEnvelope: Sendable, Encodable {
    enum Content: Sendable {
        /// Creates a session.
        case create
        /// Says that the client is still there.
        case keepAlive
        /// Ends the session.
        case destroy
        case request(JanusRequest)

        /// Whether an `ack` is the last answer. Otherwise a `success` or an `event` follows.
        var endsWithAck: Bool {
            switch self {
            case .keepAlive, .request(.trickle): true
            case .create, .destroy, .request: false
            }
        }
    }

    let content: Content
    let transaction: String
    /// `nil` for `create`.
    let session: UInt64?
    let secrets: JanusSecrets

    private enum Key: String, CodingKey {
        case janus, transaction, plugin, body, jsep, candidate, token, apisecret
        case session = "session_id"
        case handle = "handle_id"
    }

    func encode(to encoder: any Encoder) throws {
        var message = encoder.container(keyedBy: Key.self)
        try message.encode(transaction, forKey: .transaction)
        try message.encodeIfPresent(session, forKey: .session)
        try message.encodeIfPresent(secrets.token, forKey: .token)
        try message.encodeIfPresent(secrets.apiSecret, forKey: .apisecret)
        switch content {
        case .create: try message.encode("create", forKey: .janus)
        case .keepAlive: try message.encode("keepalive", forKey: .janus)
        case .destroy: try message.encode("destroy", forKey: .janus)
        case .request(.attach):
            try message.encode("attach", forKey: .janus)
            try message.encode("janus.plugin.videoroom", forKey: .plugin)
        case .request(.detach(let handle)):
            try message.encode("detach", forKey: .janus)
            try message.encode(handle, forKey: .handle)
        case .request(.message(let handle, let body, let description)):
            try message.encode("message", forKey: .janus)
            try message.encode(handle, forKey: .handle)
            try message.encode(body, forKey: .body)
            try message.encodeIfPresent(description, forKey: .jsep)
        case .request(.trickle(let handle, let candidate)):
            try message.encode("trickle", forKey: .janus)
            try message.encode(handle, forKey: .handle)
            try message.encode(candidate, forKey: .candidate)
        }
    }
}

/// What a server answers or announces.
package struct JanusMessage: Sendable, Decodable {
    package enum Kind: String, Sendable, Decodable {
        case success, error, ack, event, keepalive, timeout, detached, trickle, webrtcup, media, slowlink,
            hangup
        case serverInfo = "server_info"
    }

    package struct Failure: Sendable, Decodable {
        package let code: Int
        package let reason: String
    }

    private struct Identifier: Sendable, Decodable { let id: UInt64 }
    private struct PluginData: Sendable, Decodable { let data: VideoRoomEvent }

    /// `nil` for a kind that this client doesn't know.
    package let kind: Kind?
    package let transaction: String?
    package let session: UInt64?
    /// The handle that the message is about.
    package let handle: UInt64?
    /// The identifier of a new session or handle.
    package let identifier: UInt64?
    /// What the plugin says; `nil` also if it isn't an event of VideoRoom as this client knows it.
    package let event: VideoRoomEvent?
    package let description: SessionDescription?
    package let failure: Failure?
    /// Why a PeerConnection was closed.
    package let reason: String?

    private enum Key: String, CodingKey {
        case janus, transaction, sender, data, plugindata, jsep, error, reason
        case session = "session_id"
    }

    package init(from decoder: any Decoder) throws {
        let message = try decoder.container(keyedBy: Key.self)
        kind = Kind(rawValue: try message.decode(String.self, forKey: .janus))
        transaction = try message.decodeIfPresent(String.self, forKey: .transaction)
        session = try message.decodeIfPresent(UInt64.self, forKey: .session)
        handle = try message.decodeIfPresent(UInt64.self, forKey: .sender)
        identifier = try? message.decodeIfPresent(Identifier.self, forKey: .data)?.id
        // What another version or plugin adds mustn't end the connection.
        event = try? message.decodeIfPresent(PluginData.self, forKey: .plugindata)?.data
        description = try? message.decodeIfPresent(SessionDescription.self, forKey: .jsep)
        failure = try? message.decodeIfPresent(Failure.self, forKey: .error)
        reason = try? message.decodeIfPresent(String.self, forKey: .reason)
    }
}
