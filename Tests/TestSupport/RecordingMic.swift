import GStreamer
import MediaGraph
import Synchronization

/// A microphone that records its calls; the test sends through its sender.
public final class RecordingMic: VirtualMic {
    /// The names of the methods that the node has called, in order.
    public let calls = Log<String>()
    private let kept = Mutex<AudioSender?>(nil)
    private let onInitialize: @Sendable (AudioSender) throws -> Void
    private let onStart: @Sendable (AudioSender) throws -> Void
    private let onStop: @Sendable () -> Void

    /// Creates a microphone whose closures run inside `micInitialize`, `micStartSend` and `micStopSend`.
    public init(
        onInitialize: @escaping @Sendable (AudioSender) throws -> Void = { _ in },
        onStart: @escaping @Sendable (AudioSender) throws -> Void = { _ in },
        onStop: @escaping @Sendable () -> Void = {}
    ) {
        self.onInitialize = onInitialize
        self.onStart = onStart
        self.onStop = onStop
    }

    /// The sender of the last initialization.
    public var sender: AudioSender { kept.withLock { $0! } }

    public func micInitialize(sender: AudioSender) throws {
        calls.add("micInitialize")
        kept.withLock { $0 = sender }
        try onInitialize(sender)
    }

    public func micStartSend() throws {
        calls.add("micStartSend")
        try onStart(sender)
    }

    public func micStopSend() {
        calls.add("micStopSend")
        onStop()
    }

    public func micUninitialize() { calls.add("micUninitialize") }
}

/// Sends a block with the blocking call, which Swift forbids in `async` functions such as tests.
public func sendNow(
    _ sender: AudioSender, _ samples: [Int16], rate: Int = 48000, channels: Int = 1, at time: ClockTime? = nil
) throws(MediaGraphError) {
    try sender.send(samples, sampleRate: rate, channelCount: channels, timestamp: time)
}
