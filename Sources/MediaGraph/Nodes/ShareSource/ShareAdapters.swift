import GStreamer
import Synchronization

/// A share's source as the video source that `sharesource` has inside itself.
final class ShareVideo: VideoSource {
    private let source: any ShareSource
    private let sender = Mutex<VideoSender?>(nil)
    private let task = SourceTask()

    init(_ source: any ShareSource) { self.source = source }

    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) {
        self.sender.withLock { $0 = sender }
    }

    func startSend() throws {
        guard let sender = sender.withLock({ $0 }) else { return }
        try source.shareSendStarted(sender: sender)
        guard let source = source as? any AsyncShareSource else { return }
        try task.start(sender) { try await source.run(sender: sender) }
    }

    func stopSend() {
        task.stop(sender.withLock { $0 })
        source.shareSendStopped()
    }

    func uninitialize() { sender.withLock { $0 = nil } }
}

/// A share's source of sound as the microphone that `sharesource` has inside itself.
final class ShareAudio: VirtualMic {
    private let source: any ShareAudioSource
    private let sender = Mutex<AudioSender?>(nil)
    private let task = SourceTask()

    init(_ source: any ShareAudioSource) { self.source = source }

    func micInitialize(sender: AudioSender) { self.sender.withLock { $0 = sender } }

    func micStartSend() throws {
        guard let sender = sender.withLock({ $0 }) else { return }
        try source.startSendAudio(sender: sender)
        guard let source = source as? any AsyncShareAudioSource else { return }
        try task.start(sender) { try await source.run(sender: sender) }
    }

    func micStopSend() {
        task.stop(sender.withLock { $0 })
        source.stopSendAudio()
    }

    func micUninitialize() { sender.withLock { $0 = nil } }
}
