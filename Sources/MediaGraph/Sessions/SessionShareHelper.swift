import MediaGraphCore
import MediaGraphElements

/// Controls a session's share (Zoom's `ZoomVideoSDKShareHelper`). A session has one share at a time, and one user at a
/// time shares in a room.
public struct SessionShareHelper: Sendable {
    let session: Session

    /// Shares what these sources send, until ``stopSharing()`` is called or the session is left
    /// (startSharingExternalSource). Either source may be `nil`, for example to share only audio.
    ///
    /// While another user of the room shares, this share isn't sent; ``SessionEvent/shareIsWaiting(reason:)`` reports that,
    /// and ``isSharing`` is false. This share begins when the other one ends. With `playLocally` (isPlaying), the
    /// share's audio is also played on this machine, by additional elements made from the context's `speaker`. The
    /// virtual speaker doesn't receive it, because it receives only the audio of other users.
    ///
    /// Throws `notInSession` before joining, `wrongUsage` if both sources are `nil` or `playLocally` is true without a
    /// `speaker` in the context, `noAudio` if `playLocally` is true without an audio source, and `alreadyInUse` while
    /// something is shared.
    public func startSharing(
        _ source: (any ShareSource)?, audioSource: (any ShareAudioSource)? = nil, playLocally: Bool = false
    ) async throws(MediaGraphError) {
        try checkIsJoined()
        guard source != nil || audioSource != nil else {
            throw .wrongUsage(.init("the session's share", actual: "needs a video source, an audio source, or both"))
        }
        let speaker = playLocally ? try speaker(hasSound: audioSource != nil) : nil
        try await session.share.start(source, audioSource, speaker: speaker)
    }

    /// Shares a screen, a window or anything else that elements capture (startShareScreen), until ``stopSharing()`` is
    /// called or the session is left: `startSharing("ximagesrc")`.
    ///
    /// `description` is a description of elements that ends with video, and `audio` is one that ends with the share's
    /// sound, such as `pulsesrc device=….monitor`. Otherwise this works like
    /// ``startSharing(_:audioSource:playLocally:)``. If a shared window is closed, the share ends with a warning. The
    /// share can't be paused.
    ///
    /// Throws the errors of that function, `invalidParameter` if a description can't be parsed or doesn't end with one
    /// stream, `noDevice`, `deviceBusy` or `unsupported` if the source can't start, and `timeOut` if a server or driver
    /// doesn't answer within 10 s.
    public func startSharing(
        _ description: String, audio: String? = nil, playLocally: Bool = false
    ) async throws(MediaGraphError) {
        try checkIsJoined()
        let speaker = playLocally ? try speaker(hasSound: audio != nil) : nil
        try await session.share.start(description, sound: audio, speaker: speaker)
    }

    private func checkIsJoined() throws(MediaGraphError) {
        guard session.isJoined else {
            throw .notInSession(.init("the session's share", actual: "can't start before the session is joined"))
        }
    }

    private func speaker(hasSound: Bool) throws(MediaGraphError) -> String {
        guard hasSound else {
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
    /// `noShare` if nothing is shared, and `unsupported` if a description's elements are shared.
    public func pause() async throws(MediaGraphError) { try await session.share.node.pause() }

    /// Restarts the share's sources after ``pause()``. Throws the errors of `pause`.
    public func resume() async throws(MediaGraphError) { try await session.share.node.resume() }

    /// Whether the session's own user shares. True while the share is paused, and false while it waits for the end of
    /// another user's share.
    public var isSharing: Bool { session.share.isSharing(whileOthersShare: session.hasOtherShare) }
}

extension Session {
    /// Controls the session's share.
    public var shareHelper: SessionShareHelper { SessionShareHelper(session: self) }

    /// Whether another user shares a screen or sound.
    fileprivate var hasOtherShare: Bool { remoteUsers.contains { $0.isSending(.share) || $0.isSending(.shareAudio) } }
}
