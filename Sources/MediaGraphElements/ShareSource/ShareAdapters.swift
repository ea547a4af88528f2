import GStreamer
import MediaGraphCore
import Synchronization

/// Adapts a `ShareSource` to the video source inside a `sharesource` node.
package final class ShareVideo: VideoSource {
    private let source: any ShareSource
    private let sender = Mutex<VideoSender?>(nil)
    private let task: SourceTask

    package init(_ source: any ShareSource) {
        self.source = source
        task = SourceTask(source, VideoSender.self)
    }

    package func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) {
        self.sender.withLock { $0 = sender }
    }

    package func startSend() throws {
        guard let sender = sender.withLock({ $0 }) else { return }
        guard let source = source as? any AsyncShareSource else { return try source.shareSendStarted(sender: sender) }
        try task.start(sender, after: { try source.shareSendStarted(sender: sender) }) {
            try await source.run(sender: sender)
        }
    }

    package func stopSend() {
        task.stop(sender.withLock { $0 })
        source.shareSendStopped()
    }

    package func uninitialize() { sender.withLock { $0 = nil } }
}

/// Adapts a `ShareAudioSource` to the virtual microphone inside a `sharesource` node.
package final class ShareAudio: VirtualMic {
    private let source: any ShareAudioSource
    private let sender = Mutex<AudioSender?>(nil)
    private let task: SourceTask

    package init(_ source: any ShareAudioSource) {
        self.source = source
        task = SourceTask(source, AudioSender.self)
    }

    package func micInitialize(sender: AudioSender) { self.sender.withLock { $0 = sender } }

    package func micStartSend() throws {
        guard let sender = sender.withLock({ $0 }) else { return }
        guard let source = source as? any AsyncShareAudioSource else {
            return try source.startSendAudio(sender: sender)
        }
        try task.start(sender, after: { try source.startSendAudio(sender: sender) }) {
            try await source.run(sender: sender)
        }
    }

    package func micStopSend() {
        task.stop(sender.withLock { $0 })
        source.stopSendAudio()
    }

    package func micUninitialize() { sender.withLock { $0 = nil } }
}
