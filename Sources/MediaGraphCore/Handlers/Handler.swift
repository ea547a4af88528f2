import GStreamer

/// A handler that a description can name: `preprocessor handler=pixelate options="block=8"`.
///
/// Register the type with `HandlerRegistry.shared`, or in a library of your own (see `HandlerLibrary`). A type that is
/// only attached from Swift needs none of this.
public protocol NamedHandler: SendableMetatype {
    /// What `handler=` says.
    static var name: String { get }
    /// One line for `mediagraph inspect`.
    static var summary: String { get }
    /// The options it reads, for `inspect` and for checking a description.
    static var options: [HandlerOption] { get }
    /// Throws what `init(options:)` would throw about the options alone, and touches nothing: no file, no device, no
    /// thread. `mediagraph check` calls it. The default asks for the options that have no default, and refuses numbers out of
    /// an option's range; a handler whose `init` only reads its options says `_ = try Self(options: options)`.
    static func validate(_ options: HandlerOptions) throws
    /// Called once for each run of the graph, when the node goes to READY.
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

/// One option of a handler, as documented.
public struct HandlerOption: Sendable, Hashable {
    /// The option's name in `options=`.
    public let name: String
    /// As it would be written; empty when it must be given.
    public let defaultValue: String
    /// What the option does, in one line.
    public let meaning: String
    /// A value for examples, where the default is none to show: `clip.y4m`. One with a `%` in it tells that a file's name
    /// stands for several: `shot-%03d.png`.
    public let example: String
    /// Whether the value names a file that the handler writes; `-` is standard output.
    public let isOutput: Bool
    /// Whether the value names a file that the handler reads; `-` is standard input.
    public let isInput: Bool
    /// The numbers that the value may be; `nil` where it is no number, or the handler's own `validate` says more.
    public let range: ClosedRange<Double>?

    /// An option; without a default it must be given.
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

    /// Whether the option must be given.
    public var isRequired: Bool { defaultValue.isEmpty }
}

/// What becomes of a frame after its handler.
public enum Verdict: Sendable, Hashable {
    /// It goes on.
    case pass
    /// It goes no further; the drop is counted.
    case drop
    /// The stream can't go on: the graph ends with this reason, and the handler's name, on the bus, whatever `on-error`
    /// says. A handler that merely fails at one frame throws.
    case fail(String)
}

/// Edits frames in place before they go out (Zoom's pre-processor, ZEGO's pre-processing, Agora's onCapture).
///
/// `process` runs on the streaming thread, one frame at a time and in order, while the stream lock is held: what it takes,
/// the stream waits. It may be slow behind `queue leaky=downstream max-size-buffers=1`.
public protocol VideoProcessor: SendableMetatype {
    /// The formats that it takes, best first; empty for all that the node carries.
    static var formats: [VideoFormat] { get }
    /// Edits the frame. After a thrown error the node's `on-error` decides: the graph ends with the handler's name and the
    /// error on the bus (`stop`, the default), the frame goes on as it came in, or no further. Longer than `max-time` is
    /// late, and `on-late` decides.
    mutating func process(_ frame: inout VideoFrame) throws -> Verdict
}

extension VideoProcessor {
    /// All formats that the node carries.
    public static var formats: [VideoFormat] { [] }
}

/// Edits audio in place: what a device's microphone sends before it goes out (`virtualmic` with its `sink` linked), or the
/// mix before it is heard (`virtualspeaker`).
///
/// `process` runs on the streaming thread, one block at a time and in order, while the stream lock is held: what it takes,
/// the stream waits. Blocks are of any length; one that is a gap (``AudioFrame/isGap``) comes as silence.
public protocol AudioProcessor: SendableMetatype {
    /// Edits the samples. `drop` puts silence in their place: sound has no holes. A thrown error ends the graph, with the
    /// handler's name on the bus.
    mutating func process(_ frame: inout AudioFrame) throws -> Verdict
}

/// Receives a pipe's frames (Zoom's raw data pipe delegate, ZEGO's custom render handler).
///
/// All calls come one at a time and in stream order: status on, frames, status off. On which thread is the pipe's
/// `backpressure` to say: the streaming thread when it blocks, a thread of the pipe's own when it drops.
public protocol VideoConsumer: SendableMetatype {
    /// The formats that it takes, best first; empty for all. The pipe's `format`, when set, must be among them.
    static var formats: [VideoFormat] { get }
    /// The sender started (before its first frame) or stopped (after its last).
    mutating func statusChanged(isOn: Bool)
    /// One frame, borrowed for the call. A thrown error ends the graph, unless the node's `on-error` says
    /// otherwise.
    mutating func receive(_ frame: borrowing VideoFrame) throws
    /// The same where the pipe has `buffer-type=native`. By default it throws `unsupported`.
    mutating func receive(_ frame: borrowing NativeVideoFrame) throws
    /// The same where the pipe has `buffer-type=encoded`. By default it throws `unsupported`.
    mutating func receive(_ frame: borrowing EncodedVideoFrame) throws
    /// The stream has ended: finish files.
    mutating func finish() throws
    /// What whoever runs the graph is to be told of a stream that has ended, as a warning: what a file lacks, say.
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
