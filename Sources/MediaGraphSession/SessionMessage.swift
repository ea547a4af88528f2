import GStreamer
import MediaGraphCore

/// What a session says on the bus.
package enum SessionMessage {
    package static let joinedName = "mediagraph-user-joined"
    package static let leftName = "mediagraph-user-left"
    package static let streamName = "mediagraph-user-stream"

    package static let stalledName = "mediagraph-user-stalled"

    package static let shareRefusedName = "mediagraph-share-refused"

    static func shareRefused(_ key: StreamKey, _ error: MediaGraphError) -> Structure {
        Structure(
            shareRefusedName, [("user", key.user), ("kind", key.kind.stream.rawValue), ("reason", "\(error)")])
    }

    static func joined(_ user: String, room: String) -> Structure {
        Structure(joinedName, [("room", room), ("user", user)])
    }

    static func left(_ user: String, room: String) -> Structure {
        Structure(leftName, [("room", room), ("user", user)])
    }

    static func stream(_ key: StreamKey, on: Bool, room: String) -> Structure {
        Structure(streamName, [("room", room), ("user", key.user), ("kind", key.kind.stream.rawValue), ("on", on)])
    }

    static func stalled(_ key: StreamKey, _ isStalled: Bool) -> Structure {
        Structure(stalledName, [("user", key.user), ("kind", key.kind.stream.rawValue), ("stalled", isStalled)])
    }

    static let declarations = [
        MessageDeclaration(
            joinedName, "Another user has come into the room, or was there when this one came",
            fields: [("room", "string", "the room"), ("user", "string", "who")]),
        MessageDeclaration(
            leftName, "Another user has left the room",
            fields: [("room", "string", "the room"), ("user", "string", "who")]),
        MessageDeclaration(
            streamName, "A stream of a user in the room, this one too, has started or stopped being sent",
            fields: [
                ("room", "string", "the room"), ("user", "string", "whose"),
                ("kind", "string", "video, videoaux, audio, share or shareaudio"),
                ("on", "boolean", "whether it sends"),
            ]),
        MessageDeclaration(
            stalledName,
            "A user's stream that this session reads has stalled (it is on but has sent nothing for at least 2 s) or resumed",
            fields: [
                ("user", "string", "whose"), ("kind", "string", "video, videoaux or audio"),
                ("stalled", "boolean", "true when the stream has stalled, false when it has resumed"),
            ]),
        MessageDeclaration(
            shareRefusedName, "What this user shares isn't sent while another user's share is on",
            fields: [
                ("user", "string", "whose share is refused"), ("kind", "string", "share or shareaudio"),
                ("reason", "string", "who shares"),
            ]),
    ]
}
