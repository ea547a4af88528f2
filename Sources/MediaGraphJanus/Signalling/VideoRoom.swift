import MediaGraphCore
import MediaGraphSession
import WebRTC

/// A room of Janus' plugin VideoRoom, as a client's users join and leave it.
package struct VideoRoom: Sendable {
    /// A user who has joined the room as a publisher.
    package struct Publisher: Sendable {
        /// The handle with which the user sends, and through which the room announces the others.
        package let handle: UInt64
        /// The users who were there before.
        package let others: [VideoRoomEvent.Participant]
    }

    package let name: String
    private let client: JanusClient

    /// The room of that name on the client's server.
    package init(_ name: String, client: JanusClient) { (self.name, self.client) = (name, client) }

    private var server: JanusServer { client.server }

    /// Enters the room as a user. The first user creates it, with the PIN in the client's secrets.
    ///
    /// Throws `alreadyInUse` if somebody in the room has the name, `notPermitted` if a PIN, a token or the admin key is
    /// missing or wrong, `unsupported` if the server's rooms have numbers instead of names, and what
    /// ``JanusClient/request(_:)`` throws.
    package func join(_ user: String, display: String) async throws(MediaGraphError) -> Publisher {
        let handle = try await attach()
        do throws(MediaGraphError) {
            return try await join(user, display: display, handle)
        } catch {
            // If this fails, the session is over, and the handle with it.
            _ = try? await client.request(.detach(handle: handle))
            throw error
        }
    }

    private func join(_ user: String, display: String, _ handle: UInt64) async throws(MediaGraphError) -> Publisher {
        let request = VideoRoomRequest.join(
            room: name, user: user, display: display, pin: client.secrets.roomPIN, token: client.secrets.token)
        // The room may be destroyed just after it was created.
        for _ in 1...3 {
            let answer = try await ask(request, handle)
            guard answer.errorCode == VideoRoomErrorCode.noSuchRoom else {
                if answer.errorCode == VideoRoomErrorCode.nameTaken { throw .nameTaken(user, in: name) }
                try check(answer)
                return Publisher(handle: handle, others: (answer.publishers ?? []) + (answer.attendees ?? []))
            }
            try await create(handle)
        }
        throw .processingFailed(
            .init("room \"\(name)\"", actual: "was created on Janus server \(server) several times, and is never there")
        )
    }

    /// Creates the room, unless it exists by now.
    private func create(_ handle: UInt64) async throws(MediaGraphError) {
        let settings = VideoRoomSettings(room: name, pin: client.secrets.roomPIN, adminKey: client.secrets.adminKey)
        let answer = try await ask(.create(settings), handle)
        switch answer.errorCode {
        case VideoRoomErrorCode.roomExists: return
        case VideoRoomErrorCode.missing, VideoRoomErrorCode.unauthorized:
            throw .notPermitted(
                .init(
                    "room \"\(name)\"",
                    actual:
                        "isn't on Janus server \(server), where only programs with its admin key may create rooms; set admin-key"
                ))
        default: try check(answer)
        }
    }

    /// Changes a user's display name.
    package func rename(_ publisher: Publisher, display: String) async throws(MediaGraphError) {
        try check(try await ask(.configure(display: display), publisher.handle))
    }

    /// Takes a user out of the room.
    package func leave(_ publisher: Publisher) async throws(MediaGraphError) {
        _ = try await client.request(.detach(handle: publisher.handle))
    }

    // MARK: Media

    /// A user's media, as the server offers to send them.
    package struct Subscription: Sendable {
        /// The handle of the PeerConnection.
        package let handle: UInt64
        package let offer: SessionDescription
        package let streams: [VideoRoomEvent.Stream]
    }

    /// Offers what a user sends. `descriptions` says what each m-line is, by its mid. Returns the server's answer.
    ///
    /// The others are told of it once the connection is up.
    package func publish(
        _ offer: SessionDescription, descriptions: [String: String], from publisher: Publisher
    ) async throws(MediaGraphError) -> SessionDescription {
        let answer = try await ask(.publish(descriptions: descriptions), publisher.handle, offer)
        guard let description = answer.description else { throw unexpected(answer) }
        return description
    }

    /// Ends what a user sends, so that the user can publish again. The server announces with a hangup that it has ended the
    /// connection.
    package func unpublish(_ publisher: Publisher) async throws(MediaGraphError) {
        try check(try await ask(.unpublish, publisher.handle))
    }

    /// Asks for the media of a user who has published. Throws `noSuchUser` if the user doesn't send, or no longer.
    package func subscribe(to user: String) async throws(MediaGraphError) -> Subscription {
        let handle = try await attach()
        do throws(MediaGraphError) {
            let answer = try await ask(.subscribe(room: name, user: user, pin: client.secrets.roomPIN), handle, nil)
            guard let offer = answer.description, offer.type == .offer else { throw unexpected(answer) }
            return Subscription(handle: handle, offer: offer, streams: answer.event?.streams ?? [])
        } catch {
            await detach(handle)
            throw error
        }
    }

    /// Starts receiving, with the answer to the server's offer.
    package func start(_ subscription: Subscription, _ answer: SessionDescription) async throws(MediaGraphError) {
        _ = try await ask(.start, subscription.handle, answer)
    }

    /// Pauses and resumes streams of a feed: by each mid, whether the server sends the stream.
    package func configure(
        _ subscription: Subscription, sending active: [String: Bool]
    ) async throws(MediaGraphError) {
        _ = try await ask(.configureStreams(active), subscription.handle, nil)
    }

    /// Tells the server an address at which a handle's PeerConnection may be reached.
    package func add(_ candidate: ICECandidate, to handle: UInt64) async throws(MediaGraphError) {
        _ = try await client.request(.trickle(handle: handle, candidate))
    }

    /// Ends a handle, and its PeerConnection on the server. The server ends it too if this request is lost.
    package func detach(_ handle: UInt64) async { _ = try? await client.request(.detach(handle: handle)) }

    private func attach() async throws(MediaGraphError) -> UInt64 {
        let attached = try await client.request(.attach)
        guard let handle = attached.identifier else { throw unexpected(attached) }
        return handle
    }

    /// Sends a request to the plugin, and returns its answer. Throws if that is an error.
    private func ask(
        _ request: VideoRoomRequest, _ handle: UInt64, _ description: SessionDescription?
    ) async throws(MediaGraphError) -> JanusMessage {
        let message = try await client.request(.message(handle: handle, request, description))
        guard let event = message.event else { throw unexpected(message) }
        try check(event)
        return message
    }

    /// Sends a request to the plugin, and returns its answer, which may be an error.
    private func ask(_ request: VideoRoomRequest, _ handle: UInt64) async throws(MediaGraphError) -> VideoRoomEvent {
        let message = try await client.request(.message(handle: handle, request))
        guard let answer = message.event else { throw unexpected(message) }
        return answer
    }

    private func check(_ answer: VideoRoomEvent) throws(MediaGraphError) {
        guard let code = answer.errorCode else { return }
        let (subject, reason) = ("room \"\(name)\" on Janus server \(server)", answer.error ?? "no reason given")
        switch code {
        case VideoRoomErrorCode.noSuchFeed:
            throw .noSuchUser(.init(subject, actual: "the user isn't publishing (\(reason))"))
        case VideoRoomErrorCode.full:
            throw .tooMuchAtOnce(
                .init(subject, actual: "is full (\(reason)); raise publishers in the room's settings on the server"))
        case VideoRoomErrorCode.missing, VideoRoomErrorCode.unauthorized:
            throw .notPermitted(
                .init(
                    subject,
                    actual: "can't be joined: its PIN or token is missing or wrong (\(reason)); set room-pin or token"))
        case VideoRoomErrorCode.invalid where answer.error?.contains("integer") == true:
            throw .unsupported(
                .init(
                    "Janus server \(server)",
                    actual: "has numbers instead of names for its rooms (\(reason)); set string_ids = true in its "
                        + "janus.plugin.videoroom.jcfg"))
        default: throw .processingFailed(.init(subject, actual: "refused a request: \(reason) (\(code))"))
        }
    }

    private func unexpected(_ message: JanusMessage) -> MediaGraphError {
        .unsupported(
            .init(
                "Janus server \(server)",
                actual: "sent an unknown answer (\(message.kind.map { "\($0)" } ?? "unknown"))"))
    }
}

/// The codes of VideoRoom's errors that mean something to this client.
private enum VideoRoomErrorCode {
    static let noSuchRoom = 426
    static let roomExists = 427
    static let noSuchFeed = 428
    /// The room has as many users who send as it allows.
    static let full = 432
    /// A field is missing, such as the PIN.
    static let missing = 429
    /// A field has the wrong type, such as a name where a number is expected.
    static let invalid = 430
    static let unauthorized = 433
    static let nameTaken = 436
}
