import MediaGraphCore

/// What happens in a session.
public enum SessionEvent: Sendable {
    /// This user has come into the room (onSessionJoin).
    case joined
    /// Another has, or was there before (onUserJoin).
    case userJoined(SessionUser)
    case userLeft(SessionUser)
    /// Somebody's stream, this user's own too, has started or stopped being sent (onUserVideoStatusChanged,
    /// onUserAudioStatusChanged, onUserShareStatusChanged).
    case streamChanged(SessionUser, UserStream, isOn: Bool)
    /// What this user sends has an alpha channel from now on, or no longer. A delegate isn't told by this event, but by
    /// ``SessionDelegate/session(_:alphaChannelIsOn:)``, in order with the frames.
    case alphaChannel(isOn: Bool)
    /// Something is wrong, and the session goes on: also where a source of this user's has failed, whose stream is off then.
    case warning(ElementFailure)
    /// This user has left, or had to (onSessionLeave, onError). Nothing of this time in the room comes after it.
    case left(GraphEnd)
}

/// Gets what happens in a session, and its sound (Zoom's `ZoomVideoSDKDelegate`). The session holds it weakly.
///
/// Events come one at a time and in order, on a queue of the session's own. Sound comes between
/// ``SessionAudioHelper/subscribe()`` and ``SessionAudioHelper/unsubscribe()`` only, on a thread of its own, which sound waits
/// for no longer than its queue is long. Any of them may call the session.
public protocol SessionDelegate: AnyObject, Sendable {
    func session(_ session: Session, _ event: SessionEvent)
    /// What this user sends has an alpha channel from now on, or no longer (onVideoAlphaChannelStatusChanged). Once for each
    /// change, on the camera's own thread: behind the last frame of the old kind, and before the first of the new, which
    /// waits until this returns.
    func session(_ session: Session, alphaChannelIsOn isOn: Bool)
    /// What all others say together (onMixedAudioRawDataReceived), borrowed for the call.
    func session(_ session: Session, mixedAudioReceived frame: borrowing AudioFrame)
    /// What one of them says (onOneWayAudioRawDataReceived).
    func session(_ session: Session, oneWayAudioReceived frame: borrowing AudioFrame, user: SessionUser)
    /// The sound of a share (onSharedAudioRawDataReceived).
    func session(_ session: Session, sharedAudioReceived frame: borrowing AudioFrame)
}

extension SessionDelegate {
    /// Ignores the event.
    public func session(_ session: Session, _ event: SessionEvent) {}
    /// Ignores the change.
    public func session(_ session: Session, alphaChannelIsOn isOn: Bool) {}
    /// Ignores the sound.
    public func session(_ session: Session, mixedAudioReceived frame: borrowing AudioFrame) {}
    /// Ignores the sound.
    public func session(_ session: Session, oneWayAudioReceived frame: borrowing AudioFrame, user: SessionUser) {}
    /// Ignores the sound.
    public func session(_ session: Session, sharedAudioReceived frame: borrowing AudioFrame) {}
}
