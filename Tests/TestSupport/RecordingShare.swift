import GStreamer
import MediaGraph
import Synchronization

/// A share's picture and sound, which notes its calls and sends when the test says so.
public final class RecordingShare: ShareSource, ShareAudioSource {
    public let calls = Log<String>()
    private let kept = Mutex<(video: VideoSender?, audio: AudioSender?)>((nil, nil))
    private let onStart: @Sendable (VideoSender) throws -> Void
    private let onStop: @Sendable () -> Void

    public init(
        onStart: @escaping @Sendable (VideoSender) throws -> Void = { _ in },
        onStop: @escaping @Sendable () -> Void = {}
    ) {
        self.onStart = onStart
        self.onStop = onStop
    }

    /// The last that it was given, also when it has been stopped.
    public var sender: VideoSender { kept.withLock { $0.video! } }
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
