import MediaGraphCore
import MediaGraphDescription
import MediaGraphSession

/// One who is in the room, or was (Zoom's `ZoomVideoSDKUser`).
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

    /// Whether the user sends the stream now.
    public func isSending(_ stream: UserStream) -> Bool { session.isSending(stream, name) }

    /// The user's camera (getVideoPipe), whether it sends now or not.
    public var videoPipe: SessionPipe { SessionPipe(user: self, stream: .camera) }

    /// The user's second camera channel, whether it sends now or not.
    public var auxVideoPipe: SessionPipe { SessionPipe(user: self, stream: .cameraAux) }

    /// What the user shares. Throws `noShare` while that is nothing.
    public var sharePipe: SessionPipe {
        get throws(MediaGraphError) {
            guard isSending(.share) else {
                throw .noShare(.init("user \"\(name)\"", expected: "a share", actual: "none"))
            }
            return SessionPipe(user: self, stream: .share)
        }
    }
}

/// One user's raw video (Zoom's `ZoomVideoSDKRawDataPipe`): of the camera, or of a share.
///
/// A subscription lasts through the user's leaving and coming back, until it is ended: then the delegate hears that the
/// stream is off, and on again.
public struct SessionPipe: Sendable {
    /// The user whose stream the pipe delivers.
    public let user: SessionUser
    let stream: StreamKind

    /// `share` for a share's picture, else `video`.
    public var kind: PipeIdentity.Kind { stream.isShare ? .share : .video }

    private var reader: PipeReader {
        user.session.pipe(
            PipeIdentity(name: stream.outputPrefix + PadName.escape(user.name), kind: kind, user: user.name))
    }

    /// Sends the pipe's frames to `delegate`, at most `resolution` high, from the next one on. The pipe holds it weakly.
    ///
    /// Throws, and then no frame comes: `noSuchUser` for one who isn't in the room, `alreadyInUse` for a delegate that is
    /// subscribed to this pipe, `invalidParameter` where the session's memory mode rules a borrowing delegate out.
    public func subscribe(_ delegate: some RawDataDelegate, resolution: Resolution) throws(MediaGraphError) {
        _ = try user.session.user(user.name)
        try reader.subscribe(delegate, resolution)
    }

    /// When it returns no callback is in flight and none will come; from inside a callback it returns at once, and none
    /// follows. With the last delegate nothing is read of the user any more. Throws `wrongUsage` for a delegate that isn't
    /// subscribed.
    public func unsubscribe(_ delegate: some RawDataDelegate) throws(MediaGraphError) {
        try reader.unsubscribe(delegate)
    }

    /// The pipe's frames as they come, owned, at most `resolution` high: each may be kept and sent to other tasks. Subscribed
    /// from this call until the sequence and its iterators are gone, or the task that reads is cancelled; with any number of
    /// sequences and delegates beside. It holds two frames, and a slow reader loses the oldest, counted in
    /// `statistics.dropped`. It ends when the session is left, and throws the graph's error where it fails.
    ///
    /// Throws what ``subscribe(_:resolution:)`` does; `invalidParameter` where the session's memory mode is the stack's.
    public func frames(resolution: Resolution) throws(MediaGraphError) -> FrameSequence<OwnedVideoFrame> {
        _ = try user.session.user(user.name)
        return try reader.frames(resolution)
    }

    /// What has been delivered and lost since somebody subscribed.
    public var statistics: NodeCounts { reader.statistics }
}
