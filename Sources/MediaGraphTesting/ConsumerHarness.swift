import GStreamer
import MediaGraph

/// Runs a pipe's handler as `rawdatapipe` would, with no pipeline: status on, frames, status off, the end.
///
/// ```swift
/// var harness = try ConsumerHarness<Histogram>(options: "bins=16")
/// try harness.run([.numbered(0), .numbered(1)])
/// #expect(harness.consumer.counts.count == 16)
/// ```
/// Everything happens inside the call, on the caller's thread. Rows lie apart in memory, as they do in GStreamer's.
public struct ConsumerHarness<Consumer: VideoConsumer> {
    /// The handler with the state that it has now.
    public private(set) var consumer: Consumer

    /// Drives `consumer`, which the harness owns from now on.
    public init(_ consumer: Consumer) { self.consumer = consumer }

    /// The sender started or stopped.
    public mutating func statusChanged(isOn: Bool) { consumer.statusChanged(isOn: isOn) }

    /// Gives the handler one frame. Throws what the handler throws, and `unsupported` for a format that it doesn't take.
    public mutating func receive(_ frame: TestFrame) throws {
        try refuse(frame, unlessIn: Consumer.formats, "\(Consumer.self)")
        _ = try frame.withFrame { try consumer.receive($0) }
    }

    /// The stream has ended.
    public mutating func finish() throws { try consumer.finish() }

    /// A whole stream: status on, the frames, status off, the end.
    public mutating func run(_ frames: [TestFrame]) throws {
        statusChanged(isOn: true)
        for frame in frames { try receive(frame) }
        statusChanged(isOn: false)
        try finish()
    }
}

extension ConsumerHarness where Consumer: NamedHandler {
    /// Makes the handler from the text that a description would give as `options=`. Throws what its `init` throws, and
    /// `invalidParameter` for an option that it never asked for.
    public init(options: String = "") throws { self.init(try Consumer.make(options)) }
}
