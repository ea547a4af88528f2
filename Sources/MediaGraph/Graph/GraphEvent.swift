import GStreamer

/// An event that a graph reports while it runs.
public enum GraphEvent: Sendable {
    /// The pipeline has changed its state.
    case stateChanged(State)
    /// The source that sends to this pipe has started or stopped.
    case streamStatus(node: String, isOn: Bool)
    /// The frames of an `alphachannel`, or those that a `rawdatapipe` receives, carry alpha from now on, or no longer do.
    /// Reported between the node's last frame before the change and the first one after it, by each of these nodes once.
    case alphaChannel(node: String, isEnabled: Bool)
    /// Another user has joined a session's room, or was in it when the session joined.
    case userJoined(node: String, user: String, profile: UserProfile)
    /// A user in a session's room has changed the profile. This includes the session's own user.
    case userProfile(node: String, user: String, profile: UserProfile)
    /// A user in a session's room has sent a command, to everybody or only to the session's user.
    case userCommand(node: String, user: String, command: SessionCommand, isForAll: Bool)
    /// Another user has left a session's room.
    case userLeft(node: String, user: String)
    /// A user in a session's room has started or stopped sending a stream. This includes the session's own user. `kind`
    /// is `video`, `videoaux`, `audio`, `share` or `shareaudio`.
    case userStream(node: String, user: String, kind: String, isOn: Bool)
    /// A user in a session's room has turned a camera off (`kind` is `video` or `videoaux`) or muted the microphone
    /// (`audio`), or had done so before the session joined. With `isMuted` false, the user has turned it on again. This
    /// includes the session's own user.
    case userMuted(node: String, user: String, kind: String, isMuted: Bool)
    /// A user in a session's room has begun or stopped speaking, by the level of the microphone, or was speaking when the
    /// session joined. This includes the session's own user.
    case userSpeaking(node: String, user: String, isSpeaking: Bool)
    /// A user in a session's room has turned the alpha channel of a camera on or off. This includes the session's own
    /// user. `kind` is `video` or `videoaux`. The event isn't in order with the frames; a pipe that reads
    /// them reports the change in order with them, as ``alphaChannel(node:isEnabled:)``.
    case userAlpha(node: String, user: String, kind: String, isOn: Bool)
    /// A user's `video`, `videoaux` or `audio` stream that the graph reads is on but has sent nothing for 2 s, or for
    /// three frame durations if that is longer (at a variable rate, three times the longest interval so far). The
    /// user's program may be hanging. With `isStalled` false, the stream has resumed.
    case userStalled(node: String, user: String, kind: String, isStalled: Bool)
    /// The share of the session's own user isn't sent while another user shares, because a room has one share at a
    /// time. It is sent automatically when the other share ends. Reported once for each wait.
    case shareRefused(node: String, user: String, kind: String, reason: String)
    /// A `devicesource` has chosen one of its device's formats.
    case deviceFormat(node: String, device: String, format: String)
    /// A device has been lost, and the graph continues without it. `at` is the running time at which its data ends.
    case deviceLost(node: String, device: String, at: ClockTime, reason: String)
    /// A lost device is back. Its data between the two running times is missing.
    case deviceBack(node: String, device: String, lostAt: ClockTime, backAt: ClockTime)
    /// The input lacks a stream that a branch needs; the branch gets no data and ends.
    case missingStream(MissingStream)
    /// An element posted a warning.
    case warning(ElementFailure)
    /// An element reported a buffer that was late, or that it couldn't decode. `jitter` is how late the buffer was;
    /// `processed` and `dropped` count in the element's own unit.
    case qualityOfService(element: String, jitter: Duration, processed: UInt64, dropped: UInt64)
    /// An element is buffering and has filled this percentage of its buffer.
    case buffering(percent: Int)
    /// Any other element message.
    case element(name: String, Structure)
    /// The last event.
    case ended(GraphEnd)
}

/// How a graph ended.
public enum GraphEnd: Sendable {
    /// Every sink has received end-of-stream.
    case endOfStream
    /// The graph was stopped before end-of-stream.
    case stopped
    /// An element failed.
    case failed(ElementFailure)
}
