import MediaGraphCore

/// Controls a session's microphone, and delivery of its audio (Zoom's `ZoomVideoSDKAudioHelper`).
public struct SessionAudioHelper: Sendable {
    let session: Session

    /// Mutes the microphone (muteAudio; Agora's and ZEGO's muteLocalAudioStream and mutePublishStreamAudio). The others
    /// hear of it by ``SessionEvent/muteChanged(_:_:isMuted:)``, and hear silence.
    ///
    /// A virtual microphone gets `micStopSend`; a device continues, and what it sends is left out. May be called at any
    /// time: before joining, the user joins muted. When this returns, nothing more is sent. Throws `noAudio` if the
    /// session's context has no microphone.
    public func muteAudio() async throws(MediaGraphError) { try await session.mute(.microphone, true) }

    /// Unmutes the microphone (unMuteAudio). A virtual microphone gets `micStartSend`. Throws `noAudio` if the session's
    /// context has no microphone.
    public func unmuteAudio() async throws(MediaGraphError) { try await session.mute(.microphone, false) }

    /// Whether the microphone is muted, in the room or outside of it.
    public var isAudioMuted: Bool { session.mutes(.microphone) }

    /// Starts delivering the other users' audio to the session's delegate. Throws `notInSession` before joining.
    public func subscribe() throws(MediaGraphError) {
        guard session.isJoined else {
            throw .notInSession(
                .init("the session's audio", actual: "can't be subscribed before the session is joined"))
        }
        try session.sound.subscribe()
    }

    /// Stops delivery to the delegate. When this returns, no call is running and none will follow. The context's virtual
    /// speaker continues to receive audio.
    public func unsubscribe() async {
        let sound = session.sound
        await runBlocking { sound.unsubscribe() }
    }

    /// Stops delivery to the delegate, as the asynchronous form does. Blocks until a running call has returned, unless it
    /// is called from inside that call.
    @available(*, noasync, message: "blocks while a call runs; write `await` for the asynchronous form")
    public func unsubscribe() { session.sound.unsubscribe() }
}

extension Session {
    /// Controls the session's microphone and delivery of its audio.
    public var audioHelper: SessionAudioHelper { SessionAudioHelper(session: self) }
}
