import GStreamer

/// A source of raw video that a `videosource` node drives (Zoom's video source, ZEGO's custom capture, Agora's push).
///
/// Lifecycle, each once a cycle and in this order: `initialize` (NULL→READY) → `startSend` (PAUSED→PLAYING) → `stopSend`
/// (PLAYING→PAUSED) → `uninitialize` (READY→NULL). A second PLAYING brings a second `startSend` and `stopSend` only.
/// The calls come on the thread that changes the graph's state, one at a time: return soon, and send from a thread or
/// task of your own. The node holds the source from attachment until it is freed.
public protocol VideoSource: AnyObject, Sendable {
    /// Sizes and rates that it can give; empty where it takes any size that downstream takes.
    var capabilities: [VideoCapability] { get }
    /// Keep the sender; it refuses frames until `startSend`. `supported` is what downstream takes of `capabilities`,
    /// and `suggested` the largest of these (by area, then rate); `nil` when there is none.
    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) throws
    /// What downstream takes has changed while running. Sending goes on.
    func propertyChange(supported: [VideoCapability], suggested: VideoCapability?)
    /// Frames are accepted from now on, from inside this call too.
    func startSend() throws
    /// Frames are refused from now on: stop the pump.
    func stopSend()
    /// Let the sender go.
    func uninitialize()
}

extension VideoSource {
    /// None: the source says nothing about its sizes and rates.
    public var capabilities: [VideoCapability] { [] }
    /// Does nothing.
    public func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) throws {}
    /// Does nothing.
    public func propertyChange(supported: [VideoCapability], suggested: VideoCapability?) {}
    /// Does nothing.
    public func uninitialize() {}
}

/// A source that is one task: it implements `run`, and leaves `startSend` and `stopSend` alone.
///
/// The node starts the task after `startSend`, cancels it at `stopSend` and waits for its end, at most `stop-timeout`; when it
/// goes on all the same, the bus has a warning, and the next start is refused as long as it does. `run` returning ends the
/// stream; an error that it throws comes on the bus with the node's name, but for those that a stop brings about.
public protocol AsyncVideoSource: VideoSource {
    /// Sends until it has no more, or is cancelled: on the sender's `async` calls, which suspend under back-pressure.
    func run(sender: VideoSender) async throws
}

extension AsyncVideoSource {
    /// Does nothing.
    public func startSend() {}
    /// Does nothing.
    public func stopSend() {}
}
