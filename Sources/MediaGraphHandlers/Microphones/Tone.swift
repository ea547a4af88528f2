import Foundation
import GStreamer
import MediaGraphCore
import Synchronization

/// Plays a test tone: `virtualmic handler=tone options="frequency=1000,volume=0.2"`.
final class Tone: VirtualMic, NamedHandler {
    static let name = "tone"
    static let summary = "A test tone"
    static let options = [
        HandlerOption("frequency", default: "440", "hertz"),
        HandlerOption("volume", default: "0.5", "from 0 (silent) to 1 (full scale)"),
        HandlerOption("wave", default: "sine", "sine, square, saw or triangle"),
        HandlerOption("rate", default: "48000", "samples per second"),
        HandlerOption("channels", default: "1", "1, or 2 if the node has stereo=true"),
        HandlerOption(
            "seconds", default: "0", "duration in seconds, after which the stream ends; 0 for an endless stream"),
    ]

    enum Wave: String, CaseIterable {
        case sine, square, saw, triangle

        /// Returns the value, from −1 to 1, at a phase of the period, 0..<1.
        func value(at phase: Double) -> Double {
            switch self {
            case .sine: sin(2 * .pi * phase)
            case .square: phase < 0.5 ? 1 : -1
            case .saw: 2 * phase - 1
            case .triangle: 1 - 4 * abs(phase - 0.5)
            }
        }
    }

    private let pitch: Double
    private let volume: Double
    private let wave: Wave
    private let format: AudioBlockFormat
    private let frames: Int
    private let pump = FramePump(name: "mg-tone")
    private let sender = Mutex<AudioSender?>(nil)
    private let sent = Atomic<Int>(0)

    static func validate(_ options: HandlerOptions) throws { _ = try Self(options: options) }

    init(options: HandlerOptions) throws {
        format = try AudioBlockFormat(options)
        volume = try options.double("volume", in: 0...1, default: 0.5)
        wave = try options.choice("wave", default: .sine)
        // Samples can't represent a tone above half their rate.
        pitch = try options.double("frequency", in: 0.01...Double(format.rate) / 2, default: 440)
        let seconds = try options.double("seconds", in: 0...1e6, default: 0)
        // 0 frames stand for an endless stream.
        frames = seconds > 0 ? max(1, Int((seconds * Double(format.rate)).rounded())) : 0
    }

    func micInitialize(sender: AudioSender) { self.sender.withLock { $0 = sender } }

    func micStartSend() {
        guard let sender = sender.withLock({ $0 }) else { return }
        pump.start(sender, rate: { AudioBlockFormat.blocksPerSecond }) {
            [self] (_, timestamp) throws(MediaGraphError) in
            let begin = sent.load(ordering: .relaxed)
            let end = frames == 0 ? begin + format.blockFrames : min(begin + format.blockFrames, frames)
            guard end > begin else { return .end }
            try sender.send(
                samples(begin..<end), sampleRate: format.rate, channelCount: format.channels, timestamp: timestamp)
            sent.store(end, ordering: .relaxed)
            return .sent
        }
    }

    /// Returns the samples of a range of the stream. They depend only on their position.
    func samples(_ range: Range<Int>) -> [Int16] {
        range.flatMap { index in
            // Compute the phase of whole seconds separately and keep only its fraction, so that precision doesn't
            // decrease over hours.
            let (second, rest) = index.quotientAndRemainder(dividingBy: format.rate)
            let cycles = (Double(second) * pitch).truncatingRemainder(dividingBy: 1)
            let phase = (cycles + Double(rest) * pitch / Double(format.rate)).truncatingRemainder(dividingBy: 1)
            let sample = Int16((32767 * volume * wave.value(at: phase)).rounded())
            return repeatElement(sample, count: format.channels)
        }
    }

    func micStopSend() { pump.stop() }

    func micUninitialize() {
        sender.withLock { $0 = nil }
        sent.store(0, ordering: .relaxed)
    }
}

/// The format of audio that a handler sends in blocks of 40 ms, which is a whole number of samples at each supported
/// rate.
struct AudioBlockFormat: Sendable {
    static let blocksPerSecond = Fraction(25, 1)

    /// The sample rate in hertz.
    let rate: Int
    let channels: Int
    /// The number of samples per channel in a block.
    var blockFrames: Int { rate / 25 }
    var bytesPerFrame: Int { 2 * channels }

    /// Reads the options `rate` and `channels`.
    init(_ options: HandlerOptions) throws(MediaGraphError) {
        rate = try options.int("rate", in: 8000...192000, default: 48000)
        channels = try options.int("channels", in: 1...2, default: 1)
        guard AudioSender.sampleRates.contains(rate) else {
            let rates = AudioSender.sampleRates.map(String.init).joined(separator: ", ")
            throw options.wrong("rate", "one of \(rates)", "\(rate)")
        }
    }

    /// Returns the error for an input without samples. Without an error, a file sink downstream would write a file that
    /// can't be read.
    static func nothing(in input: String) -> MediaGraphError {
        .processingFailed(.init(input, actual: "contains no sound"))
    }
}
