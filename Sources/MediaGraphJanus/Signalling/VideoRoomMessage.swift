/// A request to Janus' plugin VideoRoom. Rooms and users are identified by their names, which needs `string_ids` in the
/// plugin's settings.
package enum VideoRoomRequest: Sendable, Encodable {
    /// Creates a room.
    case create(VideoRoomSettings)
    /// Enters a room as a user, who may publish, and is told of the others.
    case join(room: String, user: String, display: String, pin: Secret?, token: Secret?)
    /// Changes the user's display name.
    case configure(display: String)
    /// Sends the media of an offer, which the message carries. `descriptions` says what each m-line is, by its mid.
    case publish(descriptions: [String: String])
    /// Ends what the user sends.
    case unpublish
    /// Receives a user's media. Janus answers with an offer.
    case subscribe(room: String, user: String, pin: Secret?)
    /// Starts receiving, with the answer that the message carries.
    case start
    /// Pauses and resumes streams of a subscription: by each mid, whether the server sends the stream.
    case configureStreams([String: Bool])
    /// Leaves the room.
    case leave

    private enum Key: String, CodingKey {
        case request, ptype, room, id, display, pin, token, descriptions, streams, autoupdate
    }

    package func encode(to encoder: any Encoder) throws {
        var body = encoder.container(keyedBy: Key.self)
        switch self {
        case .create(let settings):
            try body.encode("create", forKey: .request)
            try settings.encode(to: encoder)
        case .join(let room, let user, let display, let pin, let token):
            try body.encode("join", forKey: .request)
            try body.encode("publisher", forKey: .ptype)
            try body.encode(room, forKey: .room)
            try body.encode(user, forKey: .id)
            try body.encode(display, forKey: .display)
            try body.encodeIfPresent(pin, forKey: .pin)
            try body.encodeIfPresent(token, forKey: .token)
        case .configure(let display):
            try body.encode("configure", forKey: .request)
            try body.encode(display, forKey: .display)
        case .publish(let descriptions):
            try body.encode("publish", forKey: .request)
            try body.encode(
                descriptions.sorted { $0.key < $1.key }.map { ["mid": $0.key, "description": $0.value] },
                forKey: .descriptions)
        case .unpublish: try body.encode("unpublish", forKey: .request)
        case .subscribe(let room, let user, let pin):
            try body.encode("join", forKey: .request)
            try body.encode("subscriber", forKey: .ptype)
            try body.encode(room, forKey: .room)
            try body.encode([["feed": user]], forKey: .streams)
            // Janus would send new offers.
            try body.encode(false, forKey: .autoupdate)
            try body.encodeIfPresent(pin, forKey: .pin)
        case .start: try body.encode("start", forKey: .request)
        case .configureStreams(let active):
            try body.encode("configure", forKey: .request)
            try body.encode(
                active.sorted { $0.key < $1.key }.map { StreamSetting(mid: $0.key, send: $0.value) }, forKey: .streams)
        case .leave: try body.encode("leave", forKey: .request)
        }
    }
}

private struct StreamSetting: Encodable {
    let mid: String
    let send: Bool
}

/// The settings of a room that the first user creates. It lasts as long as the server.
package struct VideoRoomSettings: Sendable, Encodable {
    package var room: String
    package var pin: Secret?
    /// The key for creating rooms, if the server restricts that.
    package var adminKey: Secret?
    /// How many users can send at the same time. VideoRoom's default is 3.
    package var publishers = 1000
    /// Users are told of others who don't send anything.
    package var notifyJoining = true
    /// The room isn't listed.
    package var isPrivate = true
    package var audioCodec = "opus"
    package var videoCodec = "vp8,h264"
    /// The secret for removing users and for destroying the room. Nobody keeps it, so only the server's operator can.
    package var secret = Secret((1...4).map { _ in String(UInt64.random(in: 0 ... .max), radix: 16) }.joined())

    package init(room: String, pin: Secret? = nil, adminKey: Secret? = nil, publishers: Int = 1000) {
        (self.room, self.pin, self.adminKey, self.publishers) = (room, pin, adminKey, publishers)
    }

    private enum CodingKeys: String, CodingKey {
        case room, pin, secret, publishers
        case adminKey = "admin_key"
        case notifyJoining = "notify_joining"
        case isPrivate = "is_private"
        case audioCodec = "audiocodec"
        case videoCodec = "videocodec"
    }
}

/// What the plugin VideoRoom answers or announces.
package struct VideoRoomEvent: Sendable, Decodable {
    /// A user as the others see it.
    package struct Participant: Sendable, Hashable, Decodable {
        package let id: String
        package let display: String?
        /// What the user sends; `nil` for a user who sends nothing.
        package let streams: [Stream]?
    }

    /// An m-line of a user's feed, or of a subscription.
    package struct Stream: Sendable, Hashable, Decodable {
        package enum Kind: String, Sendable, Decodable {
            case audio, video, data
        }

        /// `nil` for a kind that this client doesn't know.
        package let kind: Kind?
        package let mid: String?
        /// The number of the m-line.
        package let mLine: Int?
        /// What the user calls the m-line.
        package let description: String?
        package let isDisabled: Bool

        private enum CodingKeys: String, CodingKey {
            case type, mid, mindex, description, disabled
            case feedDescription = "feed_description"
        }

        package init(from decoder: any Decoder) throws {
            let stream = try decoder.container(keyedBy: CodingKeys.self)
            kind = try Kind(rawValue: stream.decode(String.self, forKey: .type))
            mid = try stream.decodeIfPresent(String.self, forKey: .mid)
            mLine = try stream.decodeIfPresent(Int.self, forKey: .mindex)
            description =
                try stream.decodeIfPresent(String.self, forKey: .description)
                ?? stream.decodeIfPresent(String.self, forKey: .feedDescription)
            isDisabled = try stream.decodeIfPresent(Bool.self, forKey: .disabled) ?? false
        }
    }

    /// `joined`, `created`, `event` and so on.
    package let kind: String
    package let room: String?
    /// The user that the event is about.
    package let id: String?
    /// The user's new display name.
    package let display: String?
    /// Users who send, when they begin to or, as an answer to `join`, all of them.
    package let publishers: [Participant]?
    /// Users who don't send, as an answer to `join`.
    package let attendees: [Participant]?
    /// A user who has joined.
    package let joining: Participant?
    /// A user who has left. With the reason `kicked` it is `ok`, and means this user.
    package let leaving: String?
    /// Another user who was removed.
    package let kicked: String?
    /// A user who has stopped sending.
    package let unpublished: String?
    /// The m-lines of a new subscription.
    package let streams: [Stream]?
    /// Why this user had to leave, such as `kicked`.
    package let reason: String?
    package let errorCode: Int?
    package let error: String?

    private enum CodingKeys: String, CodingKey {
        case kind = "videoroom"
        case room, id, display, publishers, attendees, joining, leaving, kicked, unpublished, streams, reason, error
        case errorCode = "error_code"
    }
}
