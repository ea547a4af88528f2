import Foundation
import GStreamer
import MediaGraphCore
import Synchronization

/// A test tone: `virtualmic handler=tone options="frequency=1000,volume=0.2"`.
final class Tone: VirtualMic, NamedHandler {
    static let name = "tone"
    static let summary = "A test tone"
    static let options = [
        HandlerOption("frequency", default: "440", "hertz"),
        HandlerOption("volume", default: "0.5", "0 silent, 1 full scale"),
        HandlerOption("wave", default: "sine", "sine, square, saw or triangle"),
        HandlerOption("rate", default: "48000", "samples per second"),
        HandlerOption("channels", default: "1", "1, or 2 where the node has stereo=true"),
        HandlerOption("seconds", default: "0", "how long, then the stream ends; 0 never"),
    ]

    enum Wave: String, CaseIterable {
        case sine, square, saw, triangle

        /// At a place in the period, 0..<1, from −1 to 1.
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
    private let format: PumpedAudio
    private let frames: Int
    private let pump = FramePump(name: "mg-tone")
    private let sender = Mutex<AudioSender?>(nil)
    private let sent = Atomic<Int>(0)

    static func validate(_ options: HandlerOptions) throws { _ = try Self(options: options) }

    init(options: HandlerOptions) throws {
        format = try PumpedAudio(options)
        volume = try options.double("volume", in: 0...1, default: 0.5)
        wave = try options.choice("wave", default: .sine)
        // No sample says anything of a tone above half their rate.
        pitch = try options.double("frequency", in: 0.01...Double(format.rate) / 2, default: 440)
        let seconds = try options.double("seconds", in: 0...1e6, default: 0)
        // None is for ever.
        frames = seconds > 0 ? max(1, Int((seconds * Double(format.rate)).rounded())) : 0
    }

    func micInitialize(sender: AudioSender) { self.sender.withLock { $0 = sender } }

    func micStartSend() {
        guard let sender = sender.withLock({ $0 }) else { return }
        pump.start(sender, rate: { PumpedAudio.blocksPerSecond }) { [self] (_, timestamp) throws(MediaGraphError) in
            let begin = sent.load(ordering: .relaxed)
            let end = frames == 0 ? begin + format.blockFrames : min(begin + format.blockFrames, frames)
            guard end > begin else { return .end }
            try sender.send(
                samples(begin..<end), sampleRate: format.rate, channelCount: format.channels, timestamp: timestamp)
            sent.store(end, ordering: .relaxed)
            return .sent
        }
    }

    /// The same for the same place in the stream.
    func samples(_ range: Range<Int>) -> [Int16] {
        range.flatMap { index in
            // Of whole seconds nothing is left but the phase's fraction: no precision is lost in an hour.
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

/// What a handler sends in equal blocks: 40 ms, which is a whole number of samples at each rate that may be sent.
struct PumpedAudio: Sendable {
    static let blocksPerSecond = Fraction(25, 1)

    let rate: Int
    let channels: Int
    var blockFrames: Int { rate / 25 }
    var bytesPerFrame: Int { 2 * channels }

    /// From the options `rate` and `channels`.
    init(_ options: HandlerOptions) throws(MediaGraphError) {
        rate = try options.int("rate", in: 8000...192000, default: 48000)
        channels = try options.int("channels", in: 1...2, default: 1)
        guard AudioSender.sampleRates.contains(rate) else {
            let rates = AudioSender.sampleRates.map(String.init).joined(separator: ", ")
            throw options.wrong("rate", "one of \(rates)", "\(rate)")
        }
    }

    /// An input that ended before its first sample: what writes files would leave one that can't be read.
    static func nothing(in input: String) -> MediaGraphError {
        .processingFailed(.init(input, expected: "sound", actual: "an end before the first sample"))
    }
}
