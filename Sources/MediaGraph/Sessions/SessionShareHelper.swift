import MediaGraphCore
import MediaGraphElements

/// Controls a session's share (Zoom's `ZoomVideoSDKShareHelper`). A session has one share at a time, and one user at a
/// time shares in a room.
public struct SessionShareHelper: Sendable {
    let session: Session

    /// Shares what these sources send, until ``stopSharing()`` is called or the session is left
    /// (startSharingExternalSource). Either source may be `nil`, for example to share only audio.
    ///
    /// While another user of the room shares, this share isn't sent; `GraphEvent.shareRefused` and a warning report
    /// that. With `playLocally` (isPlaying), the share's audio is also played on this machine, by additional elements
    /// made from the context's `speaker`. The virtual speaker doesn't receive it, because it receives only the audio of
    /// other users.
    ///
    /// Throws `notInSession` before joining, `wrongUsage` if both sources are `nil` or `playLocally` is true without a
    /// `speaker` in the context, `noAudio` if `playLocally` is true without an audio source, and `alreadyInUse` while
    /// something is shared.
    public func startSharing(
        _ source: (any ShareSource)?, audioSource: (any ShareAudioSource)? = nil, playLocally: Bool = false
    ) async throws(MediaGraphError) {
        guard session.isJoined else {
            throw .notInSession(.init("the session's share", actual: "can't start before the session is joined"))
        }
        guard source != nil || audioSource != nil else {
            throw .wrongUsage(.init("the session's share", actual: "needs a video source, an audio source, or both"))
        }
        try await session.share.start(source, audioSource, speaker: playLocally ? try speaker(audioSource) : nil)
    }

    private func speaker(_ source: (any ShareAudioSource)?) throws(MediaGraphError) -> String {
        guard source != nil else {
            throw .noAudio(.init("the session's share", actual: "needs an audio source to play it locally"))
        }
        guard let speaker = session.context.speaker else {
            throw .wrongUsage(
                .init("the session's share", actual: "needs a speaker in the session's context to play it locally"))
        }
        return speaker
    }

    /// Ends the share. When this returns, its sources have stopped and none of their frames are sent any more. Does
    /// nothing if nothing is shared.
    public func stopSharing() async { await session.share.stop() }

    /// Pauses the share: stops its sources, and tells the other users that the share is off (pauseShare). Throws
    /// `noShare` if nothing is shared.
    public func pause() async throws(MediaGraphError) { try await session.share.node.pause() }

    /// Restarts the share's sources after ``pause()``. Throws `noShare` if nothing is shared.
    public func resume() async throws(MediaGraphError) { try await session.share.node.resume() }

    /// Whether the session's own user has a share, paused or not.
    public var isSharing: Bool { session.share.isOn }
}

extension Session {
    /// Controls the session's share.
    public var shareHelper: SessionShareHelper { SessionShareHelper(session: self) }
}
