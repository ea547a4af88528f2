import GStreamer
import MediaGraphCore
import Synchronization

/// Plays a WAV file: `virtualmic handler=wav options="location=speech.wav"`.
///
/// A separate pipeline of GStreamer's parser, decoders and converters reads the file, so any sample format that they
/// know is supported, including A-law. The sound is mixed to mono if the node has `stereo=false`, and has the file's
/// sample rate or the nearest supported one. A truncated file is played up to its end, with a warning.
final class WAVSource: VirtualMic, NamedHandler {
    static let name = "wav"
    static let summary = "Plays a WAV file, mixed to mono if stereo=false, at the nearest supported sample rate"
    static let options = [HandlerOption("location", example: "speech.wav", isInput: true, "the file")]

    private let path: String
    private let isTruncated: Bool
    private let interruption = Interruption()
    private let file = Mutex<WAVFile?>(nil)
    private let sender = Mutex<AudioSender?>(nil)
    private let pump = FramePump(name: "mg-wav")

    static func validate(_ options: HandlerOptions) throws { _ = try options.string("location") }

    init(options: HandlerOptions) throws {
        let location = try options.string("location")
        // The pipeline opens a redirected standard input again, so it begins at the file's start.
        path = location == "-" ? "/dev/stdin" : location
        var reader = try ByteReader(path: path, option: "option location of wav", interruption: interruption)
        guard reader.isRegularFile else {
            throw MediaGraphError.invalidParameter(
                .init("option location of wav", actual: "must be a file on disk; \(reader.name) is a pipe or a device"))
        }
        isTruncated = try Self.isTruncated(&reader)
    }

    /// Returns whether the file is shorter than the size in its RIFF header. GStreamer's parser plays a truncated file
    /// without a warning. When sox, arecord and FFmpeg write to a pipe, they don't know the size; the values of
    /// `unknownSizes`, which they write then, are ignored.
    private static func isTruncated(_ reader: inout ByteReader) throws(MediaGraphError) -> Bool {
        var head = [UInt8](repeating: 0, count: 8)
        var filled = 0
        guard try reader.read(into: &head, filled: &filled) == .complete, head.starts(with: "RIFF".utf8) else {
            return false
        }
        let size = head[4...].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return !unknownSizes.contains { $0.contains(size) } && UInt64(reader.size) < size + 8
    }

    private static let unknownSizes: [ClosedRange<UInt64>] = [
        0...0, 0x7FFF_F000...0x7FFF_FFFF, 0x8000_0000...0x8000_00FF, 0xFFFF_FF00...0xFFFF_FFFF,
    ]

    func micInitialize(sender: AudioSender) throws {
        let opened = try WAVFile(path, channels: sender.maximumChannelCount)
        file.withLock { $0 = opened }
        self.sender.withLock { $0 = sender }
        if isTruncated { sender.warn("\(path) is shorter than its header says: it is played up to its end") }
    }

    func micStartSend() {
        guard let sender = sender.withLock({ $0 }) else { return }
        interruption.set(false)
        pump.start(sender, rate: { AudioBlockFormat.blocksPerSecond }) { [self] (_, _) throws(MediaGraphError) in
            try file.withLock { (file) throws(MediaGraphError) in
                guard let file else { return .interrupted }
                guard try file.load(interruption) else { return .interrupted }
                return try file.send(sender) ? .sent : .end
            }
        }
    }

    func micStopSend() {
        interruption.set(true)
        pump.stop()
    }

    func micUninitialize() {
        sender.withLock { $0 = nil }
        file.withLock { $0 = nil }
    }
}

/// A pipeline that decodes a WAV file, and the current block of its sound.
///
/// `@unchecked Sendable`: it is used only under the lock of `WAVSource.file`.
private final class WAVFile: @unchecked Sendable {
    private let path: String
    private let pipeline: Pipeline
    private let sink: AppSink
    private let failure = Mutex<String?>(nil)
    private let waiting = BufferAdapter()
    private var info: AudioInfo?
    /// The samples of the block that is to be sent next; empty if none has been loaded.
    private var block: [UInt8] = []
    private var hasSent = false

    init(_ path: String, channels: Int) throws(MediaGraphError) {
        self.path = path
        let caps = "\(AudioSender.caps(stereo: channels > 1))"
        do {
            pipeline = try Pipeline(
                parsing: """
                    filesrc name=file ! wavparse ! decodebin ! audioconvert name=converter ! audioresample \
                    ! capsfilter name=format ! appsink name=sink sync=false max-buffers=8
                    """)
            try pipeline.element(named: "file")?.setProperty("location", to: path)
            try pipeline.element(named: "format")?.setProperty("caps", parsing: caps)
        } catch {
            throw .unsupported(
                .init(
                    "handler wav",
                    actual: "needs wavparse, decodebin, audioconvert and audioresample: \(error)"))
        }
        guard let sink = pipeline.element(named: "sink").flatMap({ AppSink($0) }) else {
            throw .internalError(.init("handler wav"))
        }
        self.sink = sink
        pipeline.onMessage { [weak self] message in
            guard case .error(let report) = message.kind else { return }
            self?.fail(report.error.message)
        }
        pipeline.element(named: "converter")?.staticPad("sink")?.setTap(FormatCheck { [weak self] in self?.fail($0) })
        pipeline.onEachElement { $0.disableWAVPullMode() }
        pipeline.setState(.playing)
    }

    deinit {
        pipeline.setState(.null)
        pipeline.removeMessageHandler()
    }

    /// Remembers why the file can't be played. The first reason is kept.
    private func fail(_ reason: String) { failure.withLock { $0 = $0 ?? reason } }

    /// Refuses formats that the converter can't convert, with a reason. The converter would report only that
    /// negotiation failed.
    private final class FormatCheck: PadTap, @unchecked Sendable {
        // `@unchecked Sendable`: immutable.
        private let refuse: @Sendable (String) -> Void

        init(_ refuse: @escaping @Sendable (String) -> Void) { self.refuse = refuse }

        override func received(_ event: Event) -> Bool {
            guard case .caps(let caps) = event, let channels = caps.unpositionedChannels else { return true }
            refuse("\(channels) channels without positions (no channel mask)")
            return false
        }
    }

    /// Loads a whole block, or the rest of the file, into `block`. Returns `false` if interrupted.
    func load(_ interruption: Interruption) throws(MediaGraphError) -> Bool {
        while block.isEmpty {
            let wanted = info.map { $0.rate / 25 * $0.bytesPerFrame } ?? .max
            let hasEnded = sink.hasEnded
            let count = min(wanted, waiting.available)
            if count > 0, count == wanted || hasEnded {
                block = waiting.take(count)?.access.bytes ?? []
                return true
            }
            if let failure = failure.withLock({ $0 }) {
                throw .processingFailed(.init(path, actual: "can't be played as a WAV file: \(failure)"))
            }
            guard !hasEnded else { return true }
            guard !interruption.isSet else { return false }
            guard let sample = sink.pull(timeout: .milliseconds(50)) else { continue }
            if info == nil { info = sample.caps.flatMap { AudioInfo($0) } }
            if let buffer = sample.buffer { waiting.push(buffer.retained) }
        }
        return true
    }

    /// Sends `block`, which stays until it has been sent. Returns `false` at the end of the file.
    func send(_ sender: AudioSender) throws(MediaGraphError) -> Bool {
        guard let info, !block.isEmpty else {
            guard hasSent else { throw AudioBlockFormat.nothing(in: path) }
            return false
        }
        let block = block
        try block.span.withUnsafeBytes { (bytes) throws(MediaGraphError) in
            try sender.send(
                bytes.baseAddress!, dataLength: bytes.count, sampleRate: info.rate, channelCount: info.channels)
        }
        self.block = []
        hasSent = true
        return true
    }
}
