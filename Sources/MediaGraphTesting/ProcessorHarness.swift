import GStreamer
import MediaGraph

/// Runs a pre-processor's handler as `preprocessor` would, with no pipeline: frames in, frames out.
///
/// ```swift
/// var harness = try ProcessorHarness<Vignette>(options: "strength=1")
/// let (verdict, frame) = try harness.process(TestFrame(.i420, width: 65, height: 33, filledWith: 235))
/// #expect(frame[.y, 0, 0] == 16)
/// ```
/// Everything happens inside the call, on the caller's thread. Rows lie apart in memory, as they do in GStreamer's.
public struct ProcessorHarness<Processor: VideoProcessor> {
    /// The handler with the state that it has now.
    public private(set) var processor: Processor

    /// Drives `processor`, which the harness owns from now on.
    public init(_ processor: Processor) { self.processor = processor }

    /// Gives the handler one frame, and the frame back as the handler left it.
    ///
    /// Throws what the handler throws, and `unsupported` for a format that it doesn't take, as negotiation would.
    @discardableResult
    public mutating func process(_ frame: TestFrame) throws -> (verdict: Verdict, frame: TestFrame) {
        try refuse(frame, unlessIn: Processor.formats, "\(Processor.self)")
        let (verdict, processed) = try frame.withFrame { try processor.process(&$0) }
        return (verdict, processed)
    }

    /// What a stream of frames becomes: those that the handler lets pass.
    public mutating func process(_ frames: [TestFrame]) throws -> [TestFrame] {
        try frames.compactMap { frame in
            guard case (.pass, let processed) = try process(frame) else { return nil }
            return processed
        }
    }
}

extension ProcessorHarness where Processor: NamedHandler {
    /// Makes the handler from the text that a description would give as `options=`. Throws what its `init` throws, and
    /// `invalidParameter` for an option that it never asked for.
    public init(options: String = "") throws { self.init(try Processor.make(options)) }
}

extension NamedHandler {
    static func make(_ text: String) throws -> Self {
        let options = try HandlerOptions(text, handler: name)
        let handler = try Self(options: options)
        try options.refuseUnknown()
        return handler
    }
}

func refuse(_ frame: TestFrame, unlessIn formats: [VideoFormat], _ handler: String) throws(MediaGraphError) {
    guard formats.isEmpty || formats.contains(frame.format.pixelFormat) else {
        throw .unsupported(
            .init(
                handler, expected: formats.map(\.gstreamerName).joined(separator: " or "),
                actual: frame.format.pixelFormat.gstreamerName))
    }
}
