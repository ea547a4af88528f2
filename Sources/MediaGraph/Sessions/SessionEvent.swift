import MediaGraphCore

/// An event of a session.
public enum SessionEvent: Sendable {
    /// The local user has joined the room (onSessionJoin).
    case joined
    /// Another user has joined the room, or was in it before the local user (onUserJoin).
    case userJoined(SessionUser)
    /// A user has changed ``SessionUser/displayName`` or ``SessionUser/customData`` (onUserNameChanged). This includes the
    /// local user.
    case profileChanged(SessionUser)
    /// A user has sent a command (onCommandReceived): another one, or the local user to itself.
    case commandReceived(ReceivedCommand)
    /// Another user has left the room (onUserLeave).
    case userLeft(SessionUser)
    /// A user has started or stopped sending a stream (onUserVideoStatusChanged, onUserAudioStatusChanged,
    /// onUserShareStatusChanged). This includes the local user.
    case streamChanged(SessionUser, UserStream, isOn: Bool)
    /// A user has turned a camera off or muted the microphone, or had done so before the local user joined; with
    /// `isMuted` false, the user has turned it on again (onUserVideoStatusChanged, onUserAudioStatusChanged; Agora's
    /// onUserMuteVideo, onUserMuteAudio). This includes the local user. ``streamChanged(_:_:isOn:)`` follows if the stream
    /// was on.
    case muteChanged(SessionUser, UserStream, isMuted: Bool)
    /// A user has begun or stopped speaking, or was speaking when the local user joined (onUserActiveAudioChanged; Agora's
    /// onActiveSpeaker). This includes the local user. It is decided by the level of the user's microphone, whether or not
    /// anybody subscribes to its sound: speech begins after at least 200 ms above −40 dB relative to full scale
    /// (RMS), and ends after at least 600 ms below −50 dB, a second or two without sound, or when the microphone is off.
    case speakingChanged(SessionUser, isSpeaking: Bool)
    /// The local user's share isn't sent, because another user of the room shares. The share begins when the other
    /// one ends; ``streamChanged(_:_:isOn:)`` then reports it as on. ``SessionShareHelper/isSharing`` is false until
    /// then. Reported once for each wait. `reason` says who shares.
    case shareIsWaiting(reason: String)
    /// A user's `video` or `videoAux` has an alpha channel from now on, or no longer. This includes the local user. A
    /// delegate doesn't get this event; it gets ``SessionDelegate/session(_:alphaChannelIsOn:of:stream:)`` instead, in
    /// order with the frames.
    case alphaChannel(SessionUser, UserStream, isOn: Bool)
    /// An element posted a warning, or a source of the local user failed. The session continues; a failed source's
    /// stream is off.
    case warning(ElementFailure)
    /// The local user has left the room, or the session failed (onSessionLeave, onError). This is the last event of the
    /// user's stay in the room. Sources and delegates may still be called afterwards, until ``Session/leave()``
    /// returns.
    case left(GraphEnd)
}

/// Receives a session's events and audio (Zoom's `ZoomVideoSDKDelegate`). The session holds it weakly.
///
/// Events are delivered one at a time and in order, on the session's own queue. Audio is delivered only between
/// ``SessionAudioHelper/subscribe()`` and ``SessionAudioHelper/unsubscribe()``, on a thread of its own. If a callback
/// takes too long, audio waits until its queue is full, and is then dropped. All methods may call the session.
public protocol SessionDelegate: AnyObject, Sendable {
    /// Called for each event, except ``SessionEvent/alphaChannel(_:_:isOn:)``.
    func session(_ session: Session, _ event: SessionEvent)
    /// Called when a user's `video` or `videoAux` gains or loses its alpha channel (onVideoAlphaChannelStatusChanged), once for each
    /// change, whether or not the video is subscribed to. Also called for a user whose video has alpha already when
    /// the local user joins.
    ///
    /// If delegates are subscribed to the user's video pipe, or, for the local user, to the preview, this is called on
    /// the thread that delivers their frames, between the last frame before the change and the first one after it. That
    /// frame waits until this returns. With several delegates, this is called between the frames of the
    /// first one that reaches the change; the preview's come before the video pipe's. Without delegates, it is called
    /// on the camera's streaming thread for the local user, in order with the frames that are sent, and on the
    /// session's own queue for other users.
    func session(_ session: Session, alphaChannelIsOn isOn: Bool, of user: SessionUser, stream: UserStream)
    /// Called with each block of the other users' mixed audio (onMixedAudioRawDataReceived), which is borrowed for the
    /// call.
    func session(_ session: Session, mixedAudioReceived frame: borrowing AudioFrame)
    /// Called with each block of one user's audio (onOneWayAudioRawDataReceived), which is borrowed for the call.
    func session(_ session: Session, oneWayAudioReceived frame: borrowing AudioFrame, user: SessionUser)
    /// Called with each block of shared audio (onSharedAudioRawDataReceived), which is borrowed for the call.
    func session(_ session: Session, sharedAudioReceived frame: borrowing AudioFrame)
}

extension SessionDelegate {
    /// Ignores the event.
    public func session(_ session: Session, _ event: SessionEvent) {}
    /// Ignores the change.
    public func session(_ session: Session, alphaChannelIsOn isOn: Bool, of user: SessionUser, stream: UserStream) {}
    /// Ignores the audio.
    public func session(_ session: Session, mixedAudioReceived frame: borrowing AudioFrame) {}
    /// Ignores the audio.
    public func session(_ session: Session, oneWayAudioReceived frame: borrowing AudioFrame, user: SessionUser) {}
    /// Ignores the audio.
    public func session(_ session: Session, sharedAudioReceived frame: borrowing AudioFrame) {}
}
