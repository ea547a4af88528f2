import GStreamer

/// What a graph tells while it runs.
public enum GraphEvent: Sendable {
    case stateChanged(State)
    /// A pipe's sender started or stopped.
    case streamStatus(node: String, isOn: Bool)
    /// The frames of an `alphachannel` carry alpha from now on, or no longer do.
    case alphaChannel(node: String, isEnabled: Bool)
    /// Another user came into a session's room, or was there when the session came.
    case userJoined(node: String, user: String)
    case userLeft(node: String, user: String)
    /// A stream of a user in the session's room, its own too, started or stopped being sent. `kind` is video, videoaux,
    /// audio, share or shareaudio.
    case userStream(node: String, user: String, kind: String, isOn: Bool)
    /// A user's `video`, `videoaux` or `audio` stream that the graph reads is on but has sent nothing for 2 s, or for three
    /// frame durations if that is longer (at a variable rate, three times the longest interval so far). The user's program
    /// may be hanging. With `isStalled` false, the stream has resumed.
    case userStalled(node: String, user: String, kind: String, isStalled: Bool)
    /// What the session's own user shares isn't sent while another user's share is on: one shares at a time. Once for each
    /// time; it goes out by itself when the other has stopped.
    case shareRefused(node: String, user: String, kind: String, reason: String)
    /// Which of a device's formats a `devicesource` has picked.
    case deviceFormat(node: String, device: String, format: String)
    /// A device has gone, and the graph goes on without it. `at` is the running time up to which it gave data.
    case deviceLost(node: String, device: String, at: ClockTime, reason: String)
    /// It is back; what lies between the two running times is missing.
    case deviceBack(node: String, device: String, lostAt: ClockTime, backAt: ClockTime)
    /// The input lacks a stream that a branch waits for; the branch ends with nothing in it.
    case missingStream(MissingStream)
    case warning(ElementFailure)
    /// A late buffer, as an element reported it.
    case qualityOfService(element: String, jitter: Int64, processed: UInt64, dropped: UInt64)
    case buffering(percent: Int)
    /// Any other element message.
    case element(name: String, Structure)
    /// The last event.
    case ended(GraphEnd)
}

/// How a graph ended.
public enum GraphEnd: Sendable {
    /// Every sink has had end-of-stream.
    case endOfStream
    /// It was stopped before.
    case stopped
    case failed(ElementFailure)
}
