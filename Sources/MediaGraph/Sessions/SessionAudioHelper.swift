import MediaGraphCore

/// Controls delivery of a session's audio (Zoom's `ZoomVideoSDKAudioHelper`).
public struct SessionAudioHelper: Sendable {
    let session: Session

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
    /// Controls delivery of the session's audio.
    public var audioHelper: SessionAudioHelper { SessionAudioHelper(session: self) }
}
