import Foundation
import GStreamer
import MediaGraphCore
import MediaGraphElements

extension MediaSessionElement {
    static var properties: [PropertyDeclaration] {
        [
            .setting("room", of: Self.self, \.room, "The room's name; sessions with the same room name meet there"),
            .setting(
                "user", of: Self.self, \.user, "The user's name in the room; if empty, the element's name"),
            .setting(
                "display-name", of: Self.self, \.displayName, changes: .always,
                """
                The name that the other users' programs show, up to \(UserProfile.longestDisplayName) bytes; if empty, \
                they show the user's name
                """),
            .setting(
                "custom-data", of: Self.self, \.customData, changes: .always,
                """
                Text that the other users' programs get with the display name, up to \
                \(UserProfile.longestCustomData) bytes; its meaning is up to the application
                """),
            .setting(
                "transport", of: Self.self, \.transport,
                "Transport for the streams between users. "
                    + RoomTransportKind.all.map { "\($0.name): \($0.summary)" }.joined(separator: ". ")),
            .setting(
                "server", of: Self.self, \.transportSettings.server,
                """
                Address of the server of transport=janus: http://HOST:8088/janus, https://HOST/janus or unix:PATH of \
                Janus' socket on this machine
                """),
            .setting(
                "room-pin", of: Self.self, \.transportSettings.roomPIN,
                """
                The room's PIN on a server: file:PATH or env:NAME. The user who creates the room sets it, and the \
                others need the same
                """),
            .setting(
                "token", of: Self.self, \.transportSettings.token,
                "The user's token, if the room requires one: file:PATH or env:NAME"),
            .setting(
                "admin-key", of: Self.self, \.transportSettings.adminKey,
                "The key for creating rooms, if the server restricts that: file:PATH or env:NAME"),
            .setting(
                "api-secret", of: Self.self, \.transportSettings.apiSecret,
                "The secret that every client of the server needs, if it has one: file:PATH or env:NAME"),
            .setting(
                "stun-server", of: Self.self, \.transportSettings.stunServer,
                """
                STUN server that tells this machine its public address, if it is behind NAT: stun://HOST:PORT. Empty: none
                """),
            .setting(
                "turn-server", of: Self.self, \.transportSettings.turnServer,
                """
                TURN server that relays media if no direct connection works: file:PATH or env:NAME that contains \
                turn://USER:PASSWORD@HOST:PORT
                """),
            .setting(
                "video-encoder", of: Self.self, \.videoEncoder,
                """
                Elements that encode the user's raw video for transport=janus, as VP8 or H.264, such as "x264enc \
                tune=zerolatency bitrate=1000". If empty, vp8enc. Video that arrives encoded in one of these is sent as it is
                """),
            .setting(
                "join", of: Self.self, \.joins, changes: .always,
                """
                Whether to join the room when the graph runs. While false, only the previews of the user's own cameras \
                work. Setting it to true during a run joins the room. The user leaves the room when the run ends
                """),
            .setting(
                "mirror", of: Self.self, \.mirror, changes: .always,
                "Which frames of the main camera are marked to be flipped horizontally by the renderer"),
            .setting(
                "mirror-aux", of: Self.self, \.auxMirror, changes: .always,
                "Which frames of the second camera are marked to be flipped horizontally by the renderer"),
            .setting(
                "camera-off", of: Self.self, \.isCameraOff, changes: .always,
                """
                Whether the user's camera is off. Sources that lead only to the pad camera are stopped; what others send \
                is left out
                """),
            .setting(
                "camera-aux-off", of: Self.self, \.isAuxCameraOff, changes: .always,
                "Whether the user's second camera, on the pad camera_aux, is off"),
            .setting(
                "preview-off", of: Self.self, \.isPreviewOff, changes: .always,
                "Whether the camera's preview is off: the pad preview gets no frames, but the camera goes on sending"
            ),
            .setting(
                "preview-aux-off", of: Self.self, \.isAuxPreviewOff, changes: .always,
                "Whether the second camera's preview is off: preview_aux gets no frames, but that camera goes on sending"
            ),
            .setting(
                "mic-muted", of: Self.self, \.isMicMuted, changes: .always,
                """
                Whether the user's microphone is muted. Sources that lead only to the pad mic are stopped; what others \
                send is left out
                """),
            .setting("role", of: Self.self, \.role, "What the user may do in the room"),
            .setting(
                "raw-streaming", of: Self.self, \.streamsRawData,
                """
                Whether the user may stream raw data; a host needs this to enable an alphachannel linked to camera
                """),
            .setting(
                "video-config", of: Self.self, \.videoConfiguration, changes: .always,
                """
                Largest size and rate that is suggested to a source linked to camera or camera_aux, such as a \
                videosource. What readers need is suggested instead if it is less. Frames of other cameras aren't \
                changed
                """),
            .readOnly(
                "streams", of: MediaSessionElement.self, default: SessionMessage.noStatistics,
                """
                The numbers of the last second, while the user is in the room: a field for each pad that sends or reads a \
                stream, named like the pad, with a structure like those of the message \(SessionMessage.statisticsName)
                """
            ) { session in
                session.state.withLock { $0.meter }.map { SessionMessage.fields(of: $0.latest) }
                    ?? SessionMessage.noStatistics
            },
            .readOnly(
                "stats", of: MediaSessionElement.self, default: NodeStatistics.nothing,
                """
                Counters since the session was joined: frames (uint64, buffers sent by the user), dropped (uint64, \
                buffers dropped because a reader was too slow, behind a pad of this session or in another process, and \
                buffers of a share while another user shared), muted (uint64, buffers left out while the camera was off \
                or the microphone muted)
                """
            ) { $0.statistics },
        ]
    }

    static var actions: [ActionDeclaration] {
        [
            .action(
                sendTextAction, of: Self.self,
                """
                Sends a command to a user: send-text(user, text) -> GstStructure. Returns NULL, or a structure with the \
                fields code (int), subject, expected and actual (string) that says why the command wasn't sent
                """
            ) { (session, user: String, text: String) in session.send(.text(text), to: user) },
            .action(
                sendBytesAction, of: Self.self,
                "Sends bytes to a user: send-bytes(user, bytes as GBytes) -> GstStructure. Otherwise like send-text"
            ) { (session, user: String, bytes: [UInt8]) in session.send(.bytes(bytes), to: user) },
            .action(
                sendTextToAllAction, of: Self.self,
                """
                Sends a command to all other users in the room: send-text-to-all(text) -> GstStructure. Otherwise like \
                send-text
                """
            ) { (session, text: String) in session.send(.text(text), to: nil) },
            .action(
                sendBytesToAllAction, of: Self.self,
                """
                Sends bytes to all other users in the room: send-bytes-to-all(bytes as GBytes) -> GstStructure. Otherwise \
                like send-text
                """
            ) { (session, bytes: [UInt8]) in session.send(.bytes(bytes), to: nil) },
        ]
    }

    static let sendTextAction = "send-text"
    static let sendBytesAction = "send-bytes"
    // Apart from the others, so that a user's name that is empty by mistake doesn't make a command public.
    static let sendTextToAllAction = "send-text-to-all"
    static let sendBytesToAllAction = "send-bytes-to-all"

    /// Sends a command to a user or, with `nil`, to all others. Returns the details of the error if that isn't possible.
    private func send(_ command: SessionCommand, to user: String?) -> Structure? {
        do throws(MediaGraphError) {
            guard let membership = state.withLock({ $0.membership }) else {
                throw .notInSession(.init(name, actual: "isn't in a room, so it can't send commands"))
            }
            try membership.room.send(
                command, from: membership.user, to: user?.precomposedStringWithCanonicalMapping)
            return nil
        } catch { return error.details }
    }
}
