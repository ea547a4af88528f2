import GStreamer
import Synchronization

/// A source of raw video that a `videosource` node drives (Zoom's video source, ZEGO's custom capture, Agora's push).
///
/// The node calls, in this order: `initialize` (NULL→READY), `startSend` (PAUSED→PLAYING), `stopSend` (PLAYING→PAUSED),
/// `uninitialize` (READY→NULL). If the graph goes to PLAYING again before NULL, only `startSend` and `stopSend` are
/// repeated. The calls are made one at a time, on the thread that changes the graph's state: return soon, and send
/// frames from your own thread or task. The node holds the source until the node is freed.
public protocol VideoSource: AnyObject, Sendable {
    /// The sizes and rates that the source can produce; empty if it can produce any size.
    var capabilities: [VideoCapability] { get }
    /// Called when the node goes to READY. Store the sender; it refuses frames until `startSend`.
    ///
    /// `supported` are the `capabilities` that downstream accepts. If the source declares none, they are the common sizes
    /// and rates that downstream accepts, from 160×90 at 15 frames/s. In a session, only those within its configuration
    /// (`video-config`) are supported, or all if none is. `suggested` is the largest of them, by area, then by rate;
    /// `nil` if there are none. In a session, it is the least of what the session is configured for, what the source can
    /// send, and what the readers need.
    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) throws
    /// Called when the capabilities that downstream accepts, or the suggestion, have changed while the graph runs. In a
    /// session, readers cause that when they come, go, or ask for another resolution. Sending continues.
    func propertyChange(supported: [VideoCapability], suggested: VideoCapability?)
    /// Called when the node starts to accept frames. You may also send frames inside this call.
    func startSend() throws
    /// Called when the node has stopped accepting frames. Stop sending.
    func stopSend()
    /// Called when the node goes to NULL. Release the sender.
    func uninitialize()
}

extension VideoSource {
    /// An empty list: the source can produce any size.
    public var capabilities: [VideoCapability] { [] }
    /// Does nothing.
    public func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) throws {}
    /// Does nothing.
    public func propertyChange(supported: [VideoCapability], suggested: VideoCapability?) {}
    /// Does nothing.
    public func uninitialize() {}
}

/// A source that sends its frames from one task. It implements `run` instead of `startSend` and `stopSend`.
///
/// The node starts the task after `startSend`. It cancels the task before `stopSend`, and waits until the task ends, at
/// most for the node's `stop-timeout`. A task that still runs then causes a warning on the bus, and the source can't be
/// started again before the task has ended. The stream ends when `run` returns. An error that `run` throws is posted on
/// the bus with the node's name, unless a stop caused it.
public protocol AsyncVideoSource: VideoSource {
    /// Sends frames until there are no more, or the task is cancelled. Use the sender's `async` methods, which suspend
    /// under back-pressure.
    func run(sender: VideoSender) async throws
}

extension AsyncVideoSource {
    /// Does nothing.
    public func startSend() {}
    /// Does nothing.
    public func stopSend() {}
}

/// Adapts an ``AsyncVideoSource`` to the ``VideoSource`` that a node drives.
final class VideoSourceTask: VideoSource {
    private let source: any AsyncVideoSource
    private let sender = Mutex<VideoSender?>(nil)
    private let task: SourceTask

    init(_ source: any AsyncVideoSource) {
        self.source = source
        task = SourceTask(source, VideoSender.self)
    }

    var capabilities: [VideoCapability] { source.capabilities }

    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) throws {
        self.sender.withLock { $0 = sender }
        try source.initialize(sender: sender, supported: supported, suggested: suggested)
    }

    func propertyChange(supported: [VideoCapability], suggested: VideoCapability?) {
        source.propertyChange(supported: supported, suggested: suggested)
    }

    func startSend() throws {
        guard let sender = sender.withLock({ $0 }) else { return }
        try task.start(sender, after: source.startSend) { [source] in try await source.run(sender: sender) }
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
