import GStreamer
import MediaGraphCore

/// The element messages that a session posts on the bus.
package enum SessionMessage {
    package static let joinedName = "mediagraph-user-joined"
    package static let profileName = "mediagraph-user-profile"
    package static let commandName = "mediagraph-command"
    package static let leftName = "mediagraph-user-left"
    package static let streamName = "mediagraph-user-stream"
    package static let mutedName = "mediagraph-user-muted"
    package static let speakingName = "mediagraph-user-speaking"
    package static let alphaName = "mediagraph-user-alpha"

    package static let stalledName = "mediagraph-user-stalled"

    package static let statisticsName = "mediagraph-stream-statistics"

    package static let shareRefusedName = "mediagraph-share-refused"

    static func shareRefused(_ key: StreamKey, _ error: MediaGraphError) -> Structure {
        Structure(
            shareRefusedName, [("user", key.user), ("kind", key.kind.stream.rawValue), ("reason", "\(error)")])
    }

    static func joined(_ user: String, _ profile: UserProfile, room: String) -> Structure {
        Structure(joinedName, [("room", room), ("user", user)] + fields(of: profile))
    }

    static func profile(_ user: String, _ profile: UserProfile, room: String) -> Structure {
        Structure(profileName, [("room", room), ("user", user)] + fields(of: profile))
    }

    private static func fields(of profile: UserProfile) -> [(String, any ValueConvertible)] {
        [("display-name", profile.displayName), ("custom-data", profile.customData)]
    }

    static func command(
        _ command: SessionCommand, from user: String, isForAll: Bool, room: String
    ) -> Structure {
        let content: (String, any ValueConvertible) =
            switch command {
            case .text(let text): ("text", text)
            case .bytes(let bytes): ("bytes", bytes)
            }
        return Structure(commandName, [("room", room), ("user", user), ("for-all", isForAll), content])
    }

    static func left(_ user: String, room: String) -> Structure {
        Structure(leftName, [("room", room), ("user", user)])
    }

    static func stream(_ key: StreamKey, on: Bool, room: String) -> Structure {
        Structure(streamName, [("room", room), ("user", key.user), ("kind", key.kind.stream.rawValue), ("on", on)])
    }

    static func muted(_ key: StreamKey, _ isMuted: Bool, room: String) -> Structure {
        Structure(
            mutedName,
            [("room", room), ("user", key.user), ("kind", key.kind.stream.rawValue), ("muted", isMuted)])
    }

    static func speaking(_ user: String, _ isSpeaking: Bool, room: String) -> Structure {
        Structure(speakingName, [("room", room), ("user", user), ("speaking", isSpeaking)])
    }

    static func alpha(_ key: StreamKey, on: Bool, room: String) -> Structure {
        Structure(alphaName, [("room", room), ("user", key.user), ("kind", key.kind.stream.rawValue), ("on", on)])
    }

    static func stalled(_ key: StreamKey, _ isStalled: Bool) -> Structure {
        Structure(stalledName, [("user", key.user), ("kind", key.kind.stream.rawValue), ("stalled", isStalled)])
    }

    /// The statistics of streams, by pad.
    static func statistics(_ statistics: [String: StreamStatistics], room: String) -> Structure {
        Structure(statisticsName, [("room", room)] + fields(statistics))
    }

    /// The value of the property `streams`.
    static func fields(of statistics: [String: StreamStatistics]) -> Structure {
        Structure(noStatistics.name, fields(statistics))
    }

    private static func fields(_ statistics: [String: StreamStatistics]) -> [(String, any ValueConvertible)] {
        statistics.sorted { $0.key < $1.key }.map { ($0.key, $0.value.structure) }
    }

    /// The property `streams` without streams.
    static let noStatistics = Structure("mediagraph-streams")

    private static let room = (name: "room", type: "string", meaning: "the room's name")
    private static let user = (name: "user", type: "string", meaning: "the user's name")

    private static let displayName = (name: "display-name", type: "string", meaning: "the name to show; may be empty")
    private static let customData = (name: "custom-data", type: "string", meaning: "the application's own text")

    static let declarations = [
        MessageDeclaration(
            joinedName, "Another user has joined the room, or was in it when this session joined",
            fields: [room, user, displayName, customData]),
        MessageDeclaration(
            profileName,
            "A user in the room, including this session's own, has changed the display name or the custom data",
            fields: [room, user, displayName, customData]),
        MessageDeclaration(
            commandName, "A user in the room has sent a command with the action send-text or send-bytes",
            fields: [
                room, ("user", "string", "the sender's name"),
                ("for-all", "boolean", "true for a command to everybody, false for a command to this user only"),
                ("text", "string", "the command, if it was sent as text"),
                ("bytes", "GBytes", "the command, if it was sent as bytes"),
            ]),
        MessageDeclaration(
            leftName, "Another user has left the room",
            fields: [room, user]),
        MessageDeclaration(
            streamName, "A user in the room, including this session's own, has started or stopped sending a stream",
            fields: [
                room, user, ("kind", "string", "video, videoaux, audio, share or shareaudio"),
                ("on", "boolean", "true when the stream has started, false when it has stopped"),
            ]),
        MessageDeclaration(
            mutedName,
            "A user in the room, including this session's own, has turned a camera or the microphone off or on",
            fields: [
                room, user, ("kind", "string", "video, videoaux or audio"),
                ("muted", "boolean", "true when the stream has been muted, false when it has been unmuted"),
            ]),
        MessageDeclaration(
            speakingName,
            "A user in the room, including this session's own, has begun or stopped speaking, by the level of the microphone",
            fields: [
                room, user,
                ("speaking", "boolean", "true when the user has begun to speak, false when the user has stopped"),
            ]),
        MessageDeclaration(
            alphaName,
            "A user in the room, including this session's own, has turned the alpha channel of a camera on or off. In the stream, the event mediagraph-alpha-channel comes before the first frame after the change",
            fields: [
                room, user, ("kind", "string", "video or videoaux"),
                ("on", "boolean", "true if the frames have an alpha plane from now on"),
            ]),
        MessageDeclaration(
            stalledName,
            "A user's stream that this session reads has stalled (it is on but has sent nothing for at least 2 s) or resumed",
            fields: [
                user, ("kind", "string", "video, videoaux or audio"),
                ("stalled", "boolean", "true when the stream has stalled, false when it has resumed"),
            ]),
        MessageDeclaration(
            statisticsName,
            "Posted every second while the user is in the room and the session has streams, and once when it has none any more. A field for each pad that sends or reads a stream, named like the pad, contains a structure",
            fields: [
                room, user, ("kind", "string", "video, videoaux, audio, share or shareaudio"),
                ("direction", "string", "sent or received"),
                ("frames-per-second", "double", "frames or blocks of sound"),
                ("bits-per-second", "double", "as sent: of raw media if it isn't encoded"),
                ("width", "int", "of video, in pixels"), ("height", "int", "of video, in pixels"),
                ("frames", "uint64", "frames or blocks since the user joined"), ("bytes", "uint64", "their bytes"),
                ("lost", "uint64", "frames or blocks dropped since the user joined"),
                ("network-bits-per-second", "double", "of encoded media, if the stream crosses a network"),
                ("packets-lost", "uint64", "packets lost on the network"),
                ("packet-loss", "double", "the fraction of packets lost recently, from 0 to 1"),
                ("jitter", "double", "how much the packets' transit times vary, in seconds"),
                ("round-trip-time", "double", "the time to the server and back, in seconds"),
            ]),
        MessageDeclaration(
            shareRefusedName, "The share of this session's user isn't sent while another user shares",
            fields: [
                ("user", "string", "the user whose share isn't sent"), ("kind", "string", "share or shareaudio"),
                ("reason", "string", "why it isn't sent: which user shares"),
            ]),
    ]
}
