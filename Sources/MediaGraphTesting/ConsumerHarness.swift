import GStreamer
import MediaGraph

/// Runs a pipe's handler as `rawdatapipe` would, but without a pipeline: status on, frames, status off, the end.
///
/// ```swift
/// var harness = try ConsumerHarness<Histogram>(options: "bins=16")
/// try harness.run([.numbered(0), .numbered(1)])
/// #expect(harness.consumer.counts.count == 16)
/// ```
/// The handler is called on the caller's thread, before the harness's method returns. The rows of a frame are padded,
/// as they may be in GStreamer's memory.
public struct ConsumerHarness<Consumer: VideoConsumer> {
    /// The handler in its current state.
    public private(set) var consumer: Consumer

    /// Creates a harness that owns and runs `consumer`.
    public init(_ consumer: Consumer) { self.consumer = consumer }

    /// Tells the handler that the sender started or stopped.
    public mutating func statusChanged(isOn: Bool) { consumer.statusChanged(isOn: isOn) }

    /// Passes one frame to the handler. Rethrows the handler's errors, and throws `unsupported` for a format that the
    /// handler doesn't accept.
    public mutating func receive(_ frame: TestFrame) throws {
        try refuse(frame, unlessIn: Consumer.formats, "\(Consumer.self)")
        _ = try frame.withFrame { try consumer.receive($0) }
    }

    /// Tells the handler that the stream has ended.
    public mutating func finish() throws { try consumer.finish() }

    /// Runs a whole stream: status on, the frames, status off, the end.
    public mutating func run(_ frames: [TestFrame]) throws {
        statusChanged(isOn: true)
        for frame in frames { try receive(frame) }
        statusChanged(isOn: false)
        try finish()
    }
}

extension ConsumerHarness where Consumer: NamedHandler {
    /// Creates the handler from the text of its `options` property. Rethrows errors of the handler's `init`, and throws
    /// `invalidParameter` for an unknown option.
    public init(options: String = "") throws { self.init(try Consumer.make(options)) }
}
