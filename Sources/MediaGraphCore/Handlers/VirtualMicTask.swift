import GStreamer
import Synchronization

/// An `AsyncVirtualMic` as the microphone that a node drives.
final class VirtualMicTask: VirtualMic {
    private let source: any AsyncVirtualMic
    private let sender = Mutex<AudioSender?>(nil)
    private let task = SourceTask()

    init(_ source: any AsyncVirtualMic) { self.source = source }

    func micInitialize(sender: AudioSender) throws {
        self.sender.withLock { $0 = sender }
        try source.micInitialize(sender: sender)
    }

    func micStartSend() throws {
        try source.micStartSend()
        guard let sender = sender.withLock({ $0 }) else { return }
        try task.start(sender) { [source] in try await source.run(sender: sender) }
    }

    func micStopSend() {
        task.stop(sender.withLock { $0 })
        source.micStopSend()
    }

    func micUninitialize() {
        source.micUninitialize()
        sender.withLock { $0 = nil }
    }
}
