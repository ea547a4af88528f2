import GStreamer
import MediaGraphCore
import Synchronization

/// Plays 16-bit little-endian PCM without a header:
/// `… | mediagraph run "virtualmic handler=raw options=location=-,rate=16000 ! …"`.
///
/// An incomplete sample at the end isn't sent, and causes a warning.
final class RawAudioSource: VirtualMic, NamedHandler {
    static let name = "raw"
    static let summary = "Plays 16-bit little-endian PCM without a header"
    static let options = [
        HandlerOption("location", example: "sound.pcm", isInput: true, "the file, or - for standard input"),
        HandlerOption("rate", default: "48000", "samples per second"),
        HandlerOption("channels", default: "1", "1, or 2 (interleaved) if the node has stereo=true"),
    ]

    private struct Input: ~Copyable {
        var reader: ByteReader
        var block: [UInt8]
        var filled = 0
        var hasSent = false
    }

    private let format: AudioBlockFormat
    private let input: Mutex<Input>
    private let interruption = Interruption()
    private let sender = Mutex<AudioSender?>(nil)
    private let pump = FramePump(name: "mg-raw")

    static func validate(_ options: HandlerOptions) throws {
        _ = try options.string("location")
        _ = try AudioBlockFormat(options)
    }

    init(options: HandlerOptions) throws {
        let format = try AudioBlockFormat(options)
        let reader = try ByteReader(
            path: try options.string("location"), option: "option location of raw", interruption: interruption)
        self.format = format
        input = Mutex(
            Input(reader: reader, block: [UInt8](repeating: 0, count: format.blockFrames * format.bytesPerFrame)))
    }

    func micInitialize(sender: AudioSender) { self.sender.withLock { $0 = sender } }

    func micStartSend() {
        guard let sender = sender.withLock({ $0 }) else { return }
        interruption.set(false)
        pump.start(sender, rate: { AudioBlockFormat.blocksPerSecond }) { [self] (_, _) throws(MediaGraphError) in
            try input.withLock { (input) throws(MediaGraphError) in try send(&input, sender) }
        }
    }

    /// Reads and sends the next block, which stays in `input` until it has been sent.
    private func send(_ input: inout Input, _ sender: AudioSender) throws(MediaGraphError) -> FramePump.Step {
        guard try input.reader.read(into: &input.block, filled: &input.filled) != .interrupted else {
            return .interrupted
        }
        if !input.hasSent {
            try HeaderCheck.refuseHeader(of: input.block.prefix(input.filled), in: input.reader.name)
        }
        let length = input.filled - input.filled % format.bytesPerFrame
        if length < input.filled { sender.warn("\(input.reader.name) ends in the middle of a sample") }
        guard length > 0 else {
            guard input.hasSent else { throw AudioBlockFormat.nothing(in: input.reader.name) }
            return .end
        }
        try input.block.span.withUnsafeBytes { (bytes) throws(MediaGraphError) in
            try sender.send(
                bytes.baseAddress!, dataLength: length, sampleRate: format.rate, channelCount: format.channels)
        }
        input.filled = 0
        input.hasSent = true
        return .sent
    }

    func micStopSend() {
        interruption.set(true)
        pump.stop()
    }

    func micUninitialize() { sender.withLock { $0 = nil } }
}
