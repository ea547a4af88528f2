import Foundation
import GStreamer
import MediaGraphCore
import Synchronization

/// Plays a WAV file: `virtualmic handler=wav options="location=speech.wav"`.
///
/// GStreamer's own parser, decoders and converters read it, in a pipeline of its own: any sample format that they know, A-law
/// and the like among them, mixed to mono where the node has `stereo=false`, at the file's rate where that may be sent and else
/// the nearest. A file that is cut off is played as far as it goes, with a warning.
final class WAVSource: VirtualMic, NamedHandler {
    static let name = "wav"
    static let summary = "Plays a WAV file, mixed to mono where stereo=false, at the nearest rate that may be sent"
    static let options = [HandlerOption("location", example: "speech.wav", isInput: true, "the file")]

    private let path: String
    private let isCutOff: Bool
    private let interruption = Interruption()
    private let file = Mutex<WAVFile?>(nil)
    private let sender = Mutex<AudioSender?>(nil)
    private let pump = FramePump(name: "mg-wav")

    static func validate(_ options: HandlerOptions) throws { _ = try options.string("location") }

    init(options: HandlerOptions) throws {
        path = try options.string("location")
        var reader = try ByteReader(path: path, option: "option location of wav", interruption: interruption)
        guard reader.isRegularFile else {
            throw MediaGraphError.invalidParameter(
                .init("option location of wav", expected: "a file on disk", actual: path))
        }
        isCutOff = try Self.isCutOff(&reader, path)
    }

    /// The parser plays what there is and says nothing; that it should be more stands at the front (RIFF's size). A
    /// program that writes to a pipe doesn't know it: what sox, arecord and FFmpeg write then means nothing.
    private static func isCutOff(_ reader: inout ByteReader, _ path: String) throws(MediaGraphError) -> Bool {
        var head = [UInt8](repeating: 0, count: 8)
        var filled = 0
        guard try reader.read(into: &head, filled: &filled) == .complete, head.starts(with: "RIFF".utf8) else {
            return false
        }
        let size = head[4...].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let length = (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? UInt64
        guard let length, !unknownSizes.contains(where: { $0.contains(size) }) else { return false }
        return length < size + 8
    }

    private static let unknownSizes: [ClosedRange<UInt64>] = [
        0...0, 0x7FFF_F000...0x7FFF_FFFF, 0x8000_0000...0x8000_00FF, 0xFFFF_FF00...0xFFFF_FFFF,
    ]

    func micInitialize(sender: AudioSender) throws {
        let opened = try WAVFile(path, channels: sender.maximumChannelCount)
        file.withLock { $0 = opened }
        self.sender.withLock { $0 = sender }
        if isCutOff { sender.warn("\(path) is cut off: it is played as far as it goes") }
    }

    func micStartSend() {
        guard let sender = sender.withLock({ $0 }) else { return }
        interruption.set(false)
        pump.start(sender, rate: { PumpedAudio.blocksPerSecond }) { [self] (_, _) throws(MediaGraphError) in
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

/// A WAV file on its way through GStreamer's elements, a block at a time.
///
/// `@unchecked Sendable`: whoever has it holds the lock that it is behind.
private final class WAVFile: @unchecked Sendable {
    private let path: String
    private let pipeline: Pipeline
    private let sink: AppSink
    private let failure = Mutex<String?>(nil)
    private let waiting = BufferAdapter()
    private var info: AudioInfo?
    /// Taken out and not yet sent.
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
                    "handler wav", expected: "wavparse, decodebin, audioconvert and audioresample", actual: "\(error)"))
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
        pipeline.onEachElement { $0.disablePullOfWAV() }
        pipeline.setState(.playing)
    }

    deinit {
        pipeline.setState(.null)
        pipeline.removeMessageHandler()
    }

    /// The first reason counts.
    private func fail(_ reason: String) { failure.withLock { $0 = $0 ?? reason } }

    /// Looks at what a file holds before the converter does, which would only say that it can't negotiate.
    private final class FormatCheck: PadTap, @unchecked Sendable {
        // `@unchecked Sendable`: constant.
        private let refuse: @Sendable (String) -> Void

        init(_ refuse: @escaping @Sendable (String) -> Void) { self.refuse = refuse }

        override func received(_ event: Event) -> Bool {
            guard case .caps(let caps) = event, let channels = caps.unpositionedChannels else { return true }
            refuse("\(channels) channels without positions (no channel mask)")
            return false
        }
    }

    /// Sees to it that there is a whole block, or all that is left; false when that was interrupted.
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
                throw .processingFailed(.init(path, expected: "a WAV file that can be played", actual: failure))
            }
            guard !hasEnded else { return true }
            guard !interruption.isSet else { return false }
            guard let sample = sink.pull(timeout: .milliseconds(50)) else { continue }
            if info == nil { info = sample.caps.flatMap { AudioInfo($0) } }
            if let buffer = sample.buffer { waiting.push(buffer.retained) }
        }
        return true
    }

    /// False at the end. The block stays until it is sent.
    func send(_ sender: AudioSender) throws(MediaGraphError) -> Bool {
        guard let info, !block.isEmpty else {
            guard hasSent else { throw PumpedAudio.nothing(in: path) }
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
