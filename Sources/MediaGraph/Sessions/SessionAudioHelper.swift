import MediaGraphCore

/// A session's sound (Zoom's `ZoomVideoSDKAudioHelper`).
public struct SessionAudioHelper: Sendable {
    let session: Session

    /// The delegate gets everybody's sound from now on. Throws `notInSession` before joining.
    public func subscribe() throws(MediaGraphError) {
        guard session.isJoined else {
            throw .notInSession(.init("the session's sound", expected: "to be subscribed after joining"))
        }
        try session.sound.subscribe()
    }

    /// And no longer: when it returns, the delegate is in no call for it, but the one that this is made from. A virtual speaker of the context goes on.
    public func unsubscribe() { session.sound.unsubscribe() }
}

extension Session {
    /// Controls the session's audio.
    public var audioHelper: SessionAudioHelper { SessionAudioHelper(session: self) }
}
