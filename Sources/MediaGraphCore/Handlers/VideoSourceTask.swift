import GStreamer
import Synchronization

/// An `AsyncVideoSource` as the source that a node drives.
final class VideoSourceTask: VideoSource {
    private let source: any AsyncVideoSource
    private let sender = Mutex<VideoSender?>(nil)
    private let task = SourceTask()

    init(_ source: any AsyncVideoSource) { self.source = source }

    var capabilities: [VideoCapability] { source.capabilities }

    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) throws {
        self.sender.withLock { $0 = sender }
        try source.initialize(sender: sender, supported: supported, suggested: suggested)
    }

    func propertyChange(supported: [VideoCapability], suggested: VideoCapability?) {
        source.propertyChange(supported: supported, suggested: suggested)
    }

    func startSend() throws {
        try source.startSend()
        guard let sender = sender.withLock({ $0 }) else { return }
        try task.start(sender) { [source] in try await source.run(sender: sender) }
    }

    func stopSend() {
        task.stop(sender.withLock { $0 })
        source.stopSend()
    }

    func uninitialize() {
        source.uninitialize()
        sender.withLock { $0 = nil }
    }
}
