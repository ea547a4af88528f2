import MediaGraphCore
import MediaGraphDescription
import MediaGraphSession

/// A user who is or was in a session's room (Zoom's `ZoomVideoSDKUser`).
public struct SessionUser: Sendable, Hashable {
    /// The user's name in the room.
    public let name: String
    /// The session that this user was obtained from.
    public let session: Session

    /// Whether both are the same user of the same session.
    public static func == (a: SessionUser, b: SessionUser) -> Bool { a.name == b.name && a.session === b.session }

    /// Hashes the name and the session's identity.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(ObjectIdentifier(session))
    }

    /// Whether this is the session's own user.
    public var isLocal: Bool { name == session.context.user }
    /// Whether the user is in the room now.
    public var isPresent: Bool { session.has(name) }

    /// The name to show to people (getUserName). It is the user's name in the room unless the user has set another one
    /// (``SessionContext/displayName``), and for a user who isn't in the room.
    public var displayName: String {
        let shown = session.profile(of: name).displayName
        return shown.isEmpty ? name : shown
    }

    /// The text that the user's application has given the user (getCustomIdentity). Empty unless
    /// ``SessionContext/customData`` is set, and for a user who isn't in the room.
    public var customData: String { session.profile(of: name).customData }

    /// Whether the user is sending the stream now.
    public func isSending(_ stream: UserStream) -> Bool { session.isSending(stream, name) }

    /// Whether the user has turned the camera off (`video`, `videoAux`) or muted the microphone (`audio`), as far as the
    /// room has said (getVideoStatus, getAudioStatus). Always false for a share, and for a user who isn't in the room.
    ///
    /// A user who isn't sending a stream and hasn't muted it has no camera or microphone, or one that hasn't sent yet.
    public func isMuted(_ stream: UserStream) -> Bool { session.isMuted(stream, name) }

    /// Whether the user is speaking now, as ``SessionEvent/speakingChanged(_:isSpeaking:)`` reports it (the `isTalking` of
    /// ZoomVideoSDKAudioStatus). Always false for a user who isn't in the room.
    public var isSpeaking: Bool { session.isSpeaking(name) }

    /// The numbers of one of the user's streams in the last second (getVideoStatisticInfo): as the session sends it for the
    /// local user, as the session reads it for others. `nil` if it doesn't, in its first second, and outside of the room.
    public func statistics(of stream: UserStream) -> StreamStatistics? {
        let direction = isLocal ? StreamStatistics.Direction.sent : .received
        return session.latestStatistics.first { ($0.user, $0.stream, $0.direction) == (name, stream, direction) }
    }

    /// The pipe of the user's camera (getVideoPipe). It exists whether or not the camera is sending.
    public var videoPipe: SessionPipe { SessionPipe(user: self, stream: .camera) }

    /// The pipe of the user's second camera. It exists whether or not that camera is sending.
    public var auxVideoPipe: SessionPipe { SessionPipe(user: self, stream: .cameraAux) }

    /// The pipe of the user's shared video. Throws `noShare` if the user shares no video. The local user's share pipe
    /// exists as soon as ``SessionShareHelper/isSharing`` is true.
    public var sharePipe: SessionPipe {
        get throws(MediaGraphError) {
            guard isSending(.share) || isLocal && session.shareHelper.isSharing else {
                throw .noShare(.init("user \"\(name)\"", actual: "doesn't share anything"))
            }
            return SessionPipe(user: self, stream: .share)
        }
    }
}

/// One user's raw video, from a camera or a share (Zoom's `ZoomVideoSDKRawDataPipe`).
///
/// A subscription lasts until it is ended. If the user leaves and comes back, the delegate is told that the stream is
/// off, and then on again.
public struct SessionPipe: Sendable {
    /// The user whose stream the pipe delivers.
    public let user: SessionUser
    let stream: StreamKind

    /// `share` for a shared video, `camera` for a camera.
    public var kind: PipeIdentity.Kind {
        stream.isShare ? .share : .camera(stream == .cameraAux ? .aux : .main)
    }

    private var reader: PipeReader {
        user.session.pipe(
            PipeIdentity(
                name: stream.outputPrefix + PadName.escape(user.name), kind: kind, user: user.name,
                isLocal: user.isLocal))
    }

    /// Sends the pipe's frames to `delegate`, from the next frame on, scaled down to the height of `resolution` if they
    /// are higher. The pipe keeps only a weak reference.
    ///
    /// Subscribing a delegate again, for example whenever a share starts, changes its resolution and nothing else; one
    /// ``unsubscribe(_:)`` ends the subscription.
    ///
    /// Throws `noSuchUser` if the user is remote and isn't in the room, `alreadyInUse` if the delegate is subscribed in another format,
    /// and what ``RawDataPipeNode/subscribe(_:resolution:format:)`` throws.
    ///
    /// - Parameters:
    ///   - resolution: The greatest height of the frames.
    ///   - format: The format of the frames; `auto` is the format of ``SessionContext/customVideoRender``.
    public func subscribe(
        _ delegate: some RawDataDelegate, resolution: Resolution, format: PipeFormat = .auto
    ) throws(MediaGraphError) {
        _ = try user.session.user(user.name)
        try reader.subscribe(delegate, resolution, format)
    }

    /// Stops delivery to `delegate`. When this returns, no callback is running and none will follow.
    ///
    /// Waits for a running callback to return. The delegate isn't told that the stream is off. After the last delegate has
    /// unsubscribed, the session no longer reads the user's video. Throws `wrongUsage` if the delegate isn't subscribed.
    public func unsubscribe(_ delegate: some RawDataDelegate) async throws(MediaGraphError) {
        try await reader.unsubscribe(delegate)
    }

    /// Stops delivery to `delegate`, as the asynchronous form does. Blocks until a running callback has returned, unless
    /// it is called from inside a callback of this delegate.
    @available(*, noasync, message: "blocks while a callback runs; write `await` for the asynchronous form")
    public func unsubscribe(_ delegate: some RawDataDelegate) throws(MediaGraphError) {
        try reader.unsubscribe(delegate)
    }

    /// Returns the pipe's frames as an asynchronous sequence, scaled down to the height of `resolution` if they are
    /// higher. The frames are owned: they may be kept and sent to other tasks.
    ///
    /// The pipe is subscribed from this call until the sequence and its iterators have been released, or the task that
    /// reads them is cancelled. A pipe may have any number of sequences and delegates. A sequence holds two frames; for
    /// a slow reader it drops the oldest and counts them in `statistics.dropped`. The sequence ends when the session is
    /// left, and throws the graph's error if the session fails.
    ///
    /// Throws what ``subscribe(_:resolution:format:)`` throws, `invalidParameter` if the session's memory mode is `stack`,
    /// and `unsupported` if its pipes deliver native or encoded frames.
    public func frames(
        resolution: Resolution, format: PipeFormat = .auto
    ) throws(MediaGraphError) -> FrameSequence<OwnedVideoFrame> {
        _ = try user.session.user(user.name)
        return try reader.frames(resolution, format)
    }

    /// Shows the pipe's frames with these elements, such as `videoconvert ! autovideosink`, in addition to the delegates
    /// (ZEGO's canvas of startPlayingStream). The pipe needs no delegate. You may replace the canvas at any time. `nil`
    /// restores ``CustomVideoRender/engineRender``, which shows frames only while the pipe has delegates.
    ///
    /// The canvas gets the user's frames as they are sent: at full size, neither turned nor mirrored. Begin it with
    /// `upright` to turn them, and with `videoflip method=horizontal-flip` for a picture as in a mirror. If it is too slow,
    /// its oldest frames are dropped. It stays when the user leaves. If one of its elements fails, for example because its
    /// window is closed, the canvas is removed with a ``SessionEvent/warning(_:)``.
    ///
    /// Throws `noSuchUser` if the user isn't in the room, and `invalidParameter` if the description is invalid or has no
    /// sink.
    public func setCanvas(_ description: String?) throws(MediaGraphError) {
        if description != nil { _ = try user.session.user(user.name) }
        try reader.canvas.set(description)
    }

    /// The canvas that is set for this pipe; `nil` if none is.
    public var canvas: String? { reader.canvas.chosen }

    /// The pipe's counters. They start at zero with the pipe's first subscription.
    public var statistics: NodeCounts { reader.statistics }
}
