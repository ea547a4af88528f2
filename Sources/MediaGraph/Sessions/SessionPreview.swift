import MediaGraphCore
import MediaGraphSession

/// What this user's own camera or external video source gives (ZEGO's and Agora's preview), as the others get it or would.
///
/// It needs no room. Before joining, ``start()`` runs the session's one graph with `mediasession join=false`: the camera is
/// opened, or the external source called, and frames come here alone. Joining then is a step of its own in the same graph,
/// not another graph's start: nothing is opened or initialised twice, and the preview's frames go on without a gap. A second
/// graph for the preview alone would have to give the camera up first, and would call an external source for something
/// that isn't this session.
///
/// In a session that has been joined the preview is on by itself. Subscribe at any time, before ``start()`` too.
public struct SessionPreview: Sendable {
    let session: Session
    /// The camera that the preview shows.
    public let channel: PublishChannel

    private var reader: PipeReader {
        session.pipe(PipeIdentity(name: channel.previewPad, user: session.context.user))
    }

    /// Starts the camera for the preview alone (startPreview); nothing where it runs. Throws `noDevice` or `deviceBusy`
    /// where it can't be had.
    public func start() async throws(MediaGraphError) { try await session.startPreview() }

    /// Stops it, where the user isn't in the room (stopPreview): there only leaving does.
    public func stop() async { await session.stopPreview() }

    /// Sends the preview's frames to `delegate`, at most `resolution` high, from the next one on. The preview holds it weakly.
    ///
    /// Throws, and then no frame comes: `noVideo` in a session without a camera and without an external source, and else what
    /// ``SessionPipe/subscribe(_:resolution:)`` does.
    public func subscribe(_ delegate: some RawDataDelegate, resolution: Resolution) throws(MediaGraphError) {
        try checkCamera()
        try reader.subscribe(delegate, resolution)
    }

    /// As ``SessionPipe/unsubscribe(_:)``.
    public func unsubscribe(_ delegate: some RawDataDelegate) throws(MediaGraphError) {
        try reader.unsubscribe(delegate)
    }

    /// As ``SessionPipe/frames(resolution:)``.
    public func frames(resolution: Resolution) throws(MediaGraphError) -> FrameSequence<OwnedVideoFrame> {
        try checkCamera()
        return try reader.frames(resolution)
    }

    /// What has been delivered and lost since somebody subscribed.
    public var statistics: NodeCounts { reader.statistics }

    private func checkCamera() throws(MediaGraphError) {
        guard session.context.hasCamera(channel) else {
            throw .noVideo(
                .init("the preview", expected: "a camera or an external video source in the context", actual: "neither")
            )
        }
    }
}

extension Session {
    /// What the main camera gives.
    public var preview: SessionPreview { SessionPreview(session: self, channel: .main) }
    /// What the second one gives: `SessionContext.auxCamera`. It starts and stops with the main one.
    public var auxPreview: SessionPreview { SessionPreview(session: self, channel: .aux) }

    /// Which of the main camera's frames say that they are to be flipped (setVideoMirrorMode): from the next one on, at any
    /// time. It begins as the context's.
    public var mirrorMode: MirrorMode {
        get { (try? place.element.property("mirror", as: MirrorMode.self)) ?? context.mirrorMode }
        // It is never locked, and takes all there are.
        set { try? place.element.setProperty("mirror", to: newValue) }
    }
}
