import GStreamer

/// A source of sound that a `virtualmic` node drives (Zoom's `ZoomVideoSDKVirtualAudioMic`).
///
/// Lifecycle, each once a cycle and in this order: `micInitialize` (NULL→READY) → `micStartSend` (PAUSED→PLAYING) →
/// `micStopSend` (PLAYING→PAUSED) → `micUninitialize` (READY→NULL). A second PLAYING brings a second `micStartSend` and
/// `micStopSend` only. The calls come on the thread that changes the graph's state, one at a time: return soon, and send from
/// a thread or task of your own. The node holds the microphone from attachment until it is freed.
public protocol VirtualMic: AnyObject, Sendable {
    /// Keep the sender; it refuses sound until `micStartSend`.
    func micInitialize(sender: AudioSender) throws
    /// Sound is accepted from now on, from inside this call too.
    func micStartSend() throws
    /// Sound is refused from now on: stop the pump.
    func micStopSend()
    /// Let the sender go.
    func micUninitialize()
}

extension VirtualMic {
    /// Does nothing.
    public func micInitialize(sender: AudioSender) throws {}
    /// Does nothing.
    public func micUninitialize() {}
}

/// A microphone that is one task: it implements `run`, and leaves `micStartSend` and `micStopSend` alone.
///
/// The node starts the task after `micStartSend`, cancels it at `micStopSend` and waits for its end, at most `stop-timeout`;
/// when it goes on all the same, the bus has a warning, and the next start is refused as long as it does. `run` returning ends
/// the stream; an error that it throws comes on the bus with the node's name, but for those that a stop brings about.
public protocol AsyncVirtualMic: VirtualMic {
    /// Sends until it has no more, or is cancelled: on the sender's `async` calls, which suspend under back-pressure.
    func run(sender: AudioSender) async throws
}

extension AsyncVirtualMic {
    /// Does nothing.
    public func micStartSend() {}
    /// Does nothing.
    public func micStopSend() {}
}
