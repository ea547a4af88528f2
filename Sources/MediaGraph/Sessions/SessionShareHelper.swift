import MediaGraphCore
import MediaGraphElements

/// A session's share (Zoom's `ZoomVideoSDKShareHelper`): one at a time, and in the whole room one user's.
public struct SessionShareHelper: Sendable {
    let session: Session

    /// Shares what these sources send, until ``stopSharing()`` or the session is left (startSharingExternalSource). One of
    /// the two may be `nil`, as where only sound is shared. While another user of the room shares, nothing of it is seen:
    /// `GraphEvent.shareRefused` and a warning say so.
    ///
    /// With `playLocally` (isPlaying) the share's sound is heard here too: by a player of its own, made as the context's
    /// `speaker`. It is no part of what the virtual speaker hears, which is the others' sound.
    ///
    /// Throws `notInSession` before joining, `wrongUsage` without a source, or without a speaker in the context to play on,
    /// `noAudio` where there is no sound to play, and `alreadyInUse` while something is shared.
    public func startSharing(
        _ source: (any ShareSource)?, audioSource: (any ShareAudioSource)? = nil, playLocally: Bool = false
    ) async throws(MediaGraphError) {
        guard session.isJoined else { throw .notInSession(.init("a share", expected: "to begin after joining")) }
        guard source != nil || audioSource != nil else {
            throw .wrongUsage(.init("a share", expected: "a source, an audio source, or both", actual: "neither"))
        }
        try await session.share.start(source, audioSource, speaker: playLocally ? try speaker(audioSource) : nil)
    }

    private func speaker(_ source: (any ShareAudioSource)?) throws(MediaGraphError) -> String {
        guard source != nil else {
            throw .noAudio(.init("a share that is played here too", expected: "an audio source", actual: "none"))
        }
        guard let speaker = session.context.speaker else {
            throw .wrongUsage(
                .init("a share that is played here too", expected: "a speaker in the context", actual: "none"))
        }
        return speaker
    }

    /// Ends the share: when it returns, its sources have been stopped and nothing of theirs leaves any more.
    public func stopSharing() async { await session.share.stop() }

    /// Stops the sources for a while; others are told that the share is off (pauseShare). Throws `noShare` where nothing is
    /// shared.
    public func pause() async throws(MediaGraphError) { try await session.share.node.pause() }

    /// Starts the share's sources again after ``pause()``.
    public func resume() async throws(MediaGraphError) { try await session.share.node.resume() }

    /// Whether the session's user shares.
    public var isSharing: Bool { session.share.isOn }
}

extension Session {
    /// Controls the session's shares.
    public var shareHelper: SessionShareHelper { SessionShareHelper(session: self) }
}
