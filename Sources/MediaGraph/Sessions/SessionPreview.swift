import MediaGraphCore
import MediaGraphSession

/// The video of the local user's camera or external video source, as the other users get it (the preview of ZEGO's and
/// Agora's SDKs).
///
/// A preview needs no room. Before joining, ``start()`` runs the session's graph with `mediasession join=false`, which
/// opens the camera or starts the external source, and delivers frames only to the preview. Joining happens in the same
/// graph: nothing is opened or initialized twice, and the preview continues without a gap. (A separate preview graph
/// would have to close the camera first, and would call the external source outside of this session.)
///
/// In the room, the preview is on unless ``stop()`` has turned it off. You may subscribe at any time, also before
/// ``start()``.
public struct SessionPreview: Sendable {
    let session: Session
    /// The camera whose video the preview delivers.
    public let channel: PublishChannel

    private var reader: PipeReader {
        session.pipe(
            PipeIdentity(
                name: channel.previewPad, kind: .preview(channel), user: session.context.user, isLocal: true))
    }

    /// Starts the preview (startPreview). Outside of the room, also starts the cameras if they aren't running, without
    /// joining the room. Throws `noDevice` or `deviceBusy` if a camera can't be opened.
    public func start() async throws(MediaGraphError) { try await session.startPreview(channel) }

    /// Stops the preview (stopPreview). In the room, the camera goes on sending, and the preview stays off until ``start()``
    /// or the end of the session; when the user joins again, it is on. Outside of the room, the cameras are closed if
    /// ``start()`` has been called for no other preview.
    public func stop() async { await session.stopPreview(channel) }

    /// Sends the preview's frames to `delegate`, from the next frame on, scaled down to the height of `resolution` if
    /// they are higher. The preview keeps only a weak reference. Subscribing a delegate again changes its resolution.
    ///
    /// Throws `noVideo` if the session's context has no such camera, and what
    /// ``SessionPipe/subscribe(_:resolution:format:)`` throws.
    public func subscribe(
        _ delegate: some RawDataDelegate, resolution: Resolution, format: PipeFormat = .auto
    ) throws(MediaGraphError) {
        try checkCamera()
        try reader.subscribe(delegate, resolution, format)
    }

    /// Stops delivery to `delegate`. When this returns, no callback is running and none will follow.
    ///
    /// Waits for a running callback to return. Throws `wrongUsage` if the delegate isn't subscribed.
    public func unsubscribe(_ delegate: some RawDataDelegate) async throws(MediaGraphError) {
        try await reader.unsubscribe(delegate)
    }

    /// Stops delivery to `delegate`, as the asynchronous form does. Blocks until a running callback has returned, unless
    /// it is called from inside a callback of this delegate.
    @available(*, noasync, message: "blocks while a callback runs; write `await` for the asynchronous form")
    public func unsubscribe(_ delegate: some RawDataDelegate) throws(MediaGraphError) {
        try reader.unsubscribe(delegate)
    }

    /// Returns the preview's frames as an asynchronous sequence, as ``SessionPipe/frames(resolution:format:)`` does.
    /// Throws `noVideo` if the session's context has no such camera.
    public func frames(
        resolution: Resolution, format: PipeFormat = .auto
    ) throws(MediaGraphError) -> FrameSequence<OwnedVideoFrame> {
        try checkCamera()
        return try reader.frames(resolution, format)
    }

    /// Shows the preview with these elements, such as `videoconvert ! autovideosink`, in addition to the delegates (the
    /// canvas of ZEGO's startPreview), as ``SessionPipe/setCanvas(_:)`` does for a user's video.
    ///
    /// Throws `noVideo` if the session's context has no such camera, and `invalidParameter` if the description is invalid
    /// or has no sink.
    public func setCanvas(_ description: String?) throws(MediaGraphError) {
        try checkCamera()
        try reader.canvas.set(description)
    }

    /// The canvas that is set for the preview; `nil` if none is.
    public var canvas: String? { reader.canvas.chosen }

    /// The preview's counters. They start at zero with its first subscription.
    public var statistics: NodeCounts { reader.statistics }

    private func checkCamera() throws(MediaGraphError) {
        guard session.context.hasCamera(channel) else {
            let camera = channel == .main ? "a camera or an external video source" : "an auxCamera"
            throw .noVideo(.init("the preview", actual: "needs \(camera) in the session's context"))
        }
    }
}

extension PublishChannel {
    /// The property of `mediasession` that stops the camera's preview.
    var previewOffProperty: String {
        switch self {
        case .main: "preview-off"
        case .aux: "preview-aux-off"
        }
    }
}

extension Session {
    /// The preview of the main camera.
    public var preview: SessionPreview { SessionPreview(session: self, channel: .main) }
    /// The preview of the second camera (`SessionContext.auxCamera`).
    public var auxPreview: SessionPreview { SessionPreview(session: self, channel: .aux) }

    /// The cameras whose previews have been stopped.
    var stoppedPreviews: [PublishChannel] {
        PublishChannel.allCases.filter {
            (try? sessionGraph.element.property($0.previewOffProperty, as: Bool.self)) ?? false
        }
    }

    /// Turns a camera's preview off or on.
    func setPreview(_ channel: PublishChannel, isOff: Bool) {
        // Can't fail: the property accepts both values at any time.
        sessionGraph.element.configure(channel.previewOffProperty, to: isOff)
    }

    /// Where the main camera appears mirrored (setVideoMirrorMode). A change applies from the next frame on. The
    /// initial value is the context's.
    public var mirrorMode: MirrorMode {
        get { (try? sessionGraph.element.property("mirror", as: MirrorMode.self)) ?? context.mirrorMode }
        // Can't fail: the property accepts every mode at any time.
        set { sessionGraph.element.configure("mirror", to: newValue) }
    }

    /// Where the second camera appears mirrored, as ``mirrorMode`` for the main one.
    public var auxMirrorMode: MirrorMode {
        get { (try? sessionGraph.element.property("mirror-aux", as: MirrorMode.self)) ?? context.auxMirrorMode }
        // Can't fail: the property accepts every mode at any time.
        set { sessionGraph.element.configure("mirror-aux", to: newValue) }
    }

    /// The largest size and rate that is suggested to the session's sources; at first the context's.
    public var videoConfiguration: VideoCapability {
        (try? sessionGraph.element.property("video-config", as: VideoCapability.self)) ?? context.videoConfiguration
    }

    /// Changes the largest size and rate that is suggested to the session's sources (setVideoConfig), at any time. A
    /// source that is sending gets ``VideoSource/propertyChange(supported:suggested:)`` at its next frame.
    ///
    /// Throws `invalidParameter` for a width or height below 1 or above 16384 pixels, and for a rate of 0 or less.
    public func setVideoConfiguration(_ configuration: VideoCapability) throws(MediaGraphError) {
        try SessionContext.validate(configuration)
        sessionGraph.element.configure("video-config", to: configuration)
    }
}
