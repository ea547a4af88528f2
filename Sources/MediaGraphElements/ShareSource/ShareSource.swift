import GStreamer
import MediaGraphCore

/// A source of what a user shares, a screen or anything else, that a `sharesource` node drives (Zoom's
/// `ZoomVideoSDKShareSource`).
///
/// `shareSendStarted` comes when the share begins: with PLAYING, when the source is given to a graph that runs
/// (``ShareSourceNode/startSharing(_:audioSource:)``), and after each pause; `shareSendStopped` when it ends or pauses. Both
/// come on the thread that changes the graph's state or pauses the share, one at a time: return soon, and send from a thread or
/// task of your own. The node holds the source from attachment until it is detached or freed.
///
/// A frame is sent as a camera's is, by a ``VideoSender``, in any format and size that a graph's elements take; the size may be
/// another with each frame.
public protocol ShareSource: AnyObject, Sendable {
    /// Frames are accepted from now on, from inside this call too.
    func shareSendStarted(sender: VideoSender) throws
    /// Frames are refused from now on: stop the pump, and let the sender go.
    func shareSendStopped()
}

/// A share's source that is one task: it implements `run`, and leaves `shareSendStarted` and `shareSendStopped` alone.
///
/// The node starts the task when the share begins or goes on, cancels it when it ends or pauses and waits for its end, at most
/// `stop-timeout`. `run` returning ends the stream; an error that it throws comes on the bus with the node's name, but for those
/// that a stop brings about.
public protocol AsyncShareSource: ShareSource {
    /// Sends until it has no more, or is cancelled: on the sender's `async` calls, which suspend under back-pressure.
    func run(sender: VideoSender) async throws
}

extension AsyncShareSource {
    /// Does nothing.
    public func shareSendStarted(sender: VideoSender) {}
    /// Does nothing.
    public func shareSendStopped() {}
}

/// A source of a share's sound, mono or stereo (Zoom's `ZoomVideoSDKShareAudioSource`): called as a ``ShareSource`` is.
public protocol ShareAudioSource: AnyObject, Sendable {
    /// Sound is accepted from now on, from inside this call too.
    func startSendAudio(sender: AudioSender) throws
    /// Sound is refused from now on: stop the pump, and let the sender go.
    func stopSendAudio()
}

/// A source of a share's sound that is one task, as an ``AsyncShareSource`` is.
public protocol AsyncShareAudioSource: ShareAudioSource {
    /// Sends until it has no more, or is cancelled: on the sender's `async` calls, which suspend under back-pressure.
    func run(sender: AudioSender) async throws
}

extension AsyncShareAudioSource {
    /// Does nothing.
    public func startSendAudio(sender: AudioSender) {}
    /// Does nothing.
    public func stopSendAudio() {}
}
