import GStreamer
import Synchronization

/// A source of sound that a `virtualmic` node drives (Zoom's `ZoomVideoSDKVirtualAudioMic`).
///
/// The node calls, in this order: `micInitialize` (NULL→READY), `micStartSend` (PAUSED→PLAYING), `micStopSend`
/// (PLAYING→PAUSED), `micUninitialize` (READY→NULL). If the graph goes to PLAYING again before NULL, only
/// `micStartSend` and `micStopSend` are repeated. The calls are made one at a time, on the thread that changes the
/// graph's state: return soon, and send sound from your own thread or task. The node holds the microphone until the
/// node is freed.
public protocol VirtualMic: AnyObject, Sendable {
    /// Called when the node goes to READY. Store the sender; it refuses sound until `micStartSend`.
    func micInitialize(sender: AudioSender) throws
    /// Called when the node starts to accept sound. You may also send sound inside this call.
    func micStartSend() throws
    /// Called when the node has stopped accepting sound. Stop sending.
    func micStopSend()
    /// Called when the node goes to NULL. Release the sender.
    func micUninitialize()
}

extension VirtualMic {
    /// Does nothing.
    public func micInitialize(sender: AudioSender) throws {}
    /// Does nothing.
    public func micUninitialize() {}
}

/// A microphone that sends its sound from one task. It implements `run` instead of `micStartSend` and `micStopSend`.
///
/// The node starts the task after `micStartSend`. It cancels the task before `micStopSend`, and waits until the task
/// ends, at most for the node's `stop-timeout`. A task that still runs then causes a warning on the bus, and the
/// microphone can't be started again before the task has ended. The stream ends when `run` returns. An error that `run`
/// throws is posted on the bus with the node's name, unless a stop caused it.
public protocol AsyncVirtualMic: VirtualMic {
    /// Sends sound until there is no more, or the task is cancelled. Use the sender's `async` methods, which suspend
    /// under back-pressure.
    func run(sender: AudioSender) async throws
}

extension AsyncVirtualMic {
    /// Does nothing.
    public func micStartSend() {}
    /// Does nothing.
    public func micStopSend() {}
}

/// Adapts an ``AsyncVirtualMic`` to the ``VirtualMic`` that a node drives.
final class VirtualMicTask: VirtualMic {
    private let source: any AsyncVirtualMic
    private let sender = Mutex<AudioSender?>(nil)
    private let task: SourceTask

    init(_ source: any AsyncVirtualMic) {
        self.source = source
        task = SourceTask(source, AudioSender.self)
    }

    func micInitialize(sender: AudioSender) throws {
        self.sender.withLock { $0 = sender }
        try source.micInitialize(sender: sender)
    }

    func micStartSend() throws {
        guard let sender = sender.withLock({ $0 }) else { return }
        try task.start(sender, after: source.micStartSend) { [source] in try await source.run(sender: sender) }
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
