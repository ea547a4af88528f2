import GStreamer
import MediaGraph
import Synchronization

/// A share's picture and sound, which record their calls; the test sends through their senders.
public final class RecordingShare: ShareSource, ShareAudioSource {
    /// The names of the methods that the node has called, in order.
    public let calls = Log<String>()
    private let kept = Mutex<(video: VideoSender?, audio: AudioSender?)>((nil, nil))
    private let onStart: @Sendable (VideoSender) throws -> Void
    private let onStop: @Sendable () -> Void

    /// Creates a share whose closures run inside `shareSendStarted` and `shareSendStopped`.
    public init(
        onStart: @escaping @Sendable (VideoSender) throws -> Void = { _ in },
        onStop: @escaping @Sendable () -> Void = {}
    ) {
        self.onStart = onStart
        self.onStop = onStop
    }

    /// The sender of the last start, also after the share has been stopped.
    public var sender: VideoSender { kept.withLock { $0.video! } }
    /// The audio sender of the last start, also after the share has been stopped.
    public var audioSender: AudioSender { kept.withLock { $0.audio! } }

    public func shareSendStarted(sender: VideoSender) throws {
        calls.add("shareSendStarted")
        kept.withLock { $0.video = sender }
        try onStart(sender)
    }

    public func shareSendStopped() {
        calls.add("shareSendStopped")
        onStop()
    }

    public func startSendAudio(sender: AudioSender) {
        calls.add("startSendAudio")
        kept.withLock { $0.audio = sender }
    }

    public func stopSendAudio() { calls.add("stopSendAudio") }
}
