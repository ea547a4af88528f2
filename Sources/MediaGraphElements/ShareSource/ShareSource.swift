import GStreamer
import MediaGraphCore

/// A source of the video that a user shares, such as a screen, for a `sharesource` node (Zoom's
/// `ZoomVideoSDKShareSource`).
///
/// The node calls `shareSendStarted` when the share begins: when the graph goes to PLAYING, when the source is given to
/// a running graph (``ShareSourceNode/startSharing(_:audioSource:)``), and after each pause. The node calls
/// `shareSendStopped` when the share ends or pauses. Both are called on the thread that changes the graph's state or
/// pauses the share, one at a time. Return soon, and send from your own thread or task. The node retains the source
/// until the source is detached or the node is freed.
///
/// Send frames with the ``VideoSender``, in any format and size that the graph's elements accept. The size may change
/// with each frame.
public protocol ShareSource: AnyObject, Sendable {
    /// Called when the node begins to accept frames. You may send from inside this call. If you throw an error, the
    /// node posts the error on the bus.
    func shareSendStarted(sender: VideoSender) throws
    /// Called when the node no longer accepts frames. Stop sending, and release the sender.
    func shareSendStopped()
}

/// A share source that sends from one task. Implement `run`; `shareSendStarted` and `shareSendStopped` have default
/// implementations.
///
/// The node starts the task when the share begins or resumes. When the share ends or pauses, the node cancels the task
/// and waits for its end, at most `stop-timeout`. The stream ends when `run` returns. The node posts an error that
/// `run` throws on the bus, except for errors that result from stopping.
public protocol AsyncShareSource: ShareSource {
    /// Sends frames until there are no more or the task is cancelled. Use the sender's `async` functions, which suspend
    /// while the queue is full.
    func run(sender: VideoSender) async throws
}

extension AsyncShareSource {
    /// Does nothing.
    public func shareSendStarted(sender: VideoSender) {}
    /// Does nothing.
    public func shareSendStopped() {}
}

/// A source of a share's sound, mono or stereo (Zoom's `ZoomVideoSDKShareAudioSource`). The node calls it at the same
/// times and on the same threads as a ``ShareSource``.
public protocol ShareAudioSource: AnyObject, Sendable {
    /// Called when the node begins to accept sound. You may send from inside this call. If you throw an error, the node
    /// posts the error on the bus.
    func startSendAudio(sender: AudioSender) throws
    /// Called when the node no longer accepts sound. Stop sending, and release the sender.
    func stopSendAudio()
}

/// A source of a share's sound that sends from one task, like an ``AsyncShareSource``.
public protocol AsyncShareAudioSource: ShareAudioSource {
    /// Sends sound until there is no more or the task is cancelled. Use the sender's `async` functions, which suspend
    /// while the queue is full.
    func run(sender: AudioSender) async throws
}

extension AsyncShareAudioSource {
    /// Does nothing.
    public func startSendAudio(sender: AudioSender) {}
    /// Does nothing.
    public func stopSendAudio() {}
}
