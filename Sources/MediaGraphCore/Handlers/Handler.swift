import GStreamer

/// A handler that a description can name: `preprocessor handler=pixelate options="block=8"`.
///
/// Register the type with `HandlerRegistry.shared`, or in your own library (see ``HandlerLibrary``). A handler that is
/// only attached from Swift needn't conform to this protocol.
public protocol NamedHandler: SendableMetatype {
    /// The handler's name in `handler=`.
    static var name: String { get }
    /// A one-line description for `mediagraph inspect`.
    static var summary: String { get }
    /// The options that the handler reads, for `mediagraph inspect` and for checking descriptions.
    static var options: [HandlerOption] { get }
    /// Checks the options for `mediagraph check`. Throws the errors that `init(options:)` would throw because of the
    /// options alone, without touching files or devices and without starting threads.
    ///
    /// The default implementation throws if an option without a default is missing, or if a number is outside the
    /// option's range. A handler whose `init` only reads its options can implement it as `_ = try Self(options:
    /// options)`.
    static func validate(_ options: HandlerOptions) throws
    /// Creates the handler. Called once for each run of the graph, when the node goes to READY.
    init(options: HandlerOptions) throws
}

extension NamedHandler {
    /// No options.
    public static var options: [HandlerOption] { [] }

    /// Throws if a required option is missing, or if a value isn't a number in the option's range.
    public static func validate(_ options: HandlerOptions) throws {
        for option in Self.options {
            if option.isRequired { _ = try options.string(option.name) }
            if let range = option.range { _ = try options.double(option.name, in: range, default: range.lowerBound) }
        }
    }
}

/// The description of a handler's option.
public struct HandlerOption: Sendable, Hashable {
    /// The option's name in `options=`.
    public let name: String
    /// The default as text; empty if the option is required.
    public let defaultValue: String
    /// What the option does, in one line.
    public let meaning: String
    /// A value for examples, such as `clip.y4m`, if the default isn't suitable. A `%` in it marks a file name that
    /// stands for several files, such as `shot-%03d.png`.
    public let example: String
    /// Whether the value names a file that the handler writes; `-` is standard output.
    public let isOutput: Bool
    /// Whether the value names a file that the handler reads; `-` is standard input.
    public let isInput: Bool
    /// The range of a numeric value; `nil` if the value isn't a number, or if the handler's `validate` checks it.
    public let range: ClosedRange<Double>?

    /// Creates an option. An option with an empty default is required.
    public init(
        _ name: String, default defaultValue: String = "", in range: ClosedRange<Double>? = nil, example: String = "",
        isOutput: Bool = false, isInput: Bool = false, _ meaning: String
    ) {
        self.name = name
        self.defaultValue = defaultValue
        self.meaning = meaning
        self.example = example
        self.isOutput = isOutput
        self.isInput = isInput
        self.range = range
    }

    /// Whether the option has no default and must be set.
    public var isRequired: Bool { defaultValue.isEmpty }
}

/// What happens to a frame after its handler has seen it.
public enum Verdict: Sendable, Hashable {
    /// The frame continues downstream.
    case pass
    /// The frame is dropped, and counted as dropped.
    case drop
    /// The stream can't continue: the graph ends with an error on the bus that gives this reason and the handler's
    /// name, whatever `on-error` says. A handler that fails on a single frame throws instead. If the handler's frames come
    /// from a session's own camera, only that stream ends, with a warning.
    case fail(String)
}

/// Edits frames in place before they are sent (Zoom's pre-processor, ZEGO's pre-processing, Agora's onCapture).
///
/// `process` is called on the streaming thread, one frame at a time and in order, with the stream lock held, so the
/// stream waits meanwhile. A slow processor can be placed behind `queue leaky=downstream max-size-buffers=1`.
public protocol VideoProcessor: SendableMetatype {
    /// The formats that the processor accepts, best first; empty for all that the node carries.
    static var formats: [VideoFormat] { get }
    /// Edits the frame. If it throws, the node's `on-error` property decides: the graph ends with the handler's name
    /// and the error on the bus (`stop`, the default), the frame continues unedited, or it is dropped. If a call takes
    /// longer than the node's `max-time`, its `on-late` property decides.
    mutating func process(_ frame: inout VideoFrame) throws -> Verdict
}

extension VideoProcessor {
    /// All formats that the node carries.
    public static var formats: [VideoFormat] { [] }
}

/// Edits audio in place: a microphone's sound before it is sent (`virtualmic` with its `sink` linked), or the mix
/// before it is played (`virtualspeaker`).
///
/// `process` is called on the streaming thread, one block at a time and in order, with the stream lock held, so the
/// stream waits meanwhile. Blocks may have any length. Gaps (``AudioFrame/isGap``) arrive as silence.
public protocol AudioProcessor: SendableMetatype {
    /// Edits the samples. `drop` replaces them with silence, because audio streams have no holes. A thrown error ends
    /// the graph, unless the node's `on-error` says otherwise.
    mutating func process(_ frame: inout AudioFrame) throws -> Verdict
}

/// Receives a pipe's frames (Zoom's raw data pipe delegate, ZEGO's custom render handler).
///
/// All calls are made one at a time and in stream order: status on, frames, status off. The pipe's `backpressure`
/// decides on which thread: the streaming thread if it blocks, the pipe's own thread if it drops frames.
public protocol VideoConsumer: SendableMetatype {
    /// The formats that the consumer accepts, best first; empty for all. If the pipe's `format` is set, it must be one
    /// of them.
    static var formats: [VideoFormat] { get }
    /// Called when the sender has started, before its first frame, and when it has stopped, after its last frame.
    mutating func statusChanged(isOn: Bool)
    /// Receives a frame, which is borrowed for the call. A thrown error ends the graph, unless the node's `on-error`
    /// says otherwise.
    mutating func receive(_ frame: borrowing VideoFrame) throws
    /// Receives a frame of a pipe with `buffer-type=native`. The default implementation throws `unsupported`.
    mutating func receive(_ frame: borrowing NativeVideoFrame) throws
    /// Receives an access unit of a pipe with `buffer-type=encoded`. The default implementation throws `unsupported`.
    mutating func receive(_ frame: borrowing EncodedVideoFrame) throws
    /// Called when the stream has ended, to finish files.
    mutating func finish() throws
    /// A warning to report after the stream has ended, for example that a file is incomplete; `nil` for none.
    var remark: String? { get }
}

extension VideoConsumer {
    /// No remark.
    public var remark: String? { nil }
    /// All formats.
    public static var formats: [VideoFormat] { [] }
    /// Does nothing.
    public mutating func statusChanged(isOn: Bool) {}
    /// Throws `unsupported`.
    public mutating func receive(_ frame: borrowing VideoFrame) throws {
        throw MediaGraphError.doesNotTake(Self.self, .raw)
    }
    /// Throws `unsupported`.
    public mutating func receive(_ frame: borrowing NativeVideoFrame) throws {
        throw MediaGraphError.doesNotTake(Self.self, .native)
    }
    /// Throws `unsupported`.
    public mutating func receive(_ frame: borrowing EncodedVideoFrame) throws {
        throw MediaGraphError.doesNotTake(Self.self, .encoded)
    }
    /// Does nothing.
    public mutating func finish() throws {}
}
