import GStreamer
import MediaGraph

/// Runs a pre-processor's handler as `preprocessor` would, but without a pipeline: frames in, frames out.
///
/// ```swift
/// var harness = try ProcessorHarness<Vignette>(options: "strength=1")
/// let (verdict, frame) = try harness.process(TestFrame(.i420, width: 65, height: 33, filledWith: 235))
/// #expect(frame[.y, 0, 0] == 16)
/// ```
/// The handler is called on the caller's thread, before the harness's method returns. The rows of a frame are padded,
/// as they may be in GStreamer's memory.
public struct ProcessorHarness<Processor: VideoProcessor> {
    /// The handler in its current state.
    public private(set) var processor: Processor

    /// Creates a harness that owns and runs `processor`.
    public init(_ processor: Processor) { self.processor = processor }

    /// Passes one frame to the handler. Returns the handler's verdict and the frame as the handler left it.
    ///
    /// Rethrows the handler's errors, and throws `unsupported` for a format that the handler doesn't accept, which
    /// negotiation would refuse.
    @discardableResult
    public mutating func process(_ frame: TestFrame) throws -> (verdict: Verdict, frame: TestFrame) {
        try refuse(frame, unlessIn: Processor.formats, "\(Processor.self)")
        let (verdict, processed) = try frame.withFrame { try processor.process(&$0) }
        return (verdict, processed)
    }

    /// Passes several frames to the handler. Returns the processed frames without those that the handler drops.
    public mutating func process(_ frames: [TestFrame]) throws -> [TestFrame] {
        try frames.compactMap { frame in
            guard case (.pass, let processed) = try process(frame) else { return nil }
            return processed
        }
    }
}

extension ProcessorHarness where Processor: NamedHandler {
    /// Creates the handler from the text of its `options` property. Rethrows errors of the handler's `init`, and throws
    /// `invalidParameter` for an unknown option.
    public init(options: String = "") throws { self.init(try Processor.make(options)) }
}

extension NamedHandler {
    static func make(_ text: String) throws -> Self {
        let options = try HandlerOptions(text, handler: name)
        let handler = try Self(options: options)
        try options.checkUnknown()
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
