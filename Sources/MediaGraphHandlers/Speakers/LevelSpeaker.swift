import Foundation
import GStreamer
import MediaGraphCore

/// Measures each stream's level: `virtualspeaker handler=level options="interval=100"`.
///
/// For each interval of a stream's time, the node posts `mediagraph-level` on the bus with the root mean square and the
/// largest sample of the interval, in decibels relative to full scale, computed like those of GStreamer's element
/// `level`: a full-scale sine has an RMS of -3.01 dB and a peak of 0 dB, silence has -700 dB and -350 dB. Stereo
/// channels are measured together. `mediagraph run` shows the levels as meters.
package struct LevelSpeaker: VirtualSpeaker, NamedHandler {
    package static let name = "level"
    package static let summary = "Measures each stream's level, RMS and peak"
    package static let options = [
        HandlerOption("interval", default: "100", "milliseconds of sound in each measurement")
    ]

    /// The name of the bus message.
    static let messageName = "mediagraph-level"

    private let intervalNanoseconds: UInt64
    private var registration: SpeakerRegistration?
    private var levels: [SpeakerStream: Level] = [:]

    package static func validate(_ options: HandlerOptions) throws { _ = try Self(options: options) }

    package init(options: HandlerOptions) throws {
        intervalNanoseconds = 1_000_000 * UInt64(try options.int("interval", in: 1...60_000, default: 100))
    }

    package mutating func registered(_ registration: SpeakerRegistration) { self.registration = registration }

    package mutating func mixedAudioReceived(_ frame: borrowing AudioFrame) { measure(frame, .mixed) }
    package mutating func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) {
        measure(frame, .oneWay(user))
    }
    package mutating func sharedAudioReceived(_ frame: borrowing AudioFrame) { measure(frame, .shared) }

    /// Posts the level of the last, incomplete interval when a stream ends.
    package mutating func statusChanged(isOn: Bool, of stream: SpeakerStream) {
        guard !isOn, let level = levels.removeValue(forKey: stream), level.count > 0 else { return }
        post(level, stream)
    }

    private mutating func measure(_ frame: borrowing AudioFrame, _ stream: SpeakerStream) {
        let length = max(1, frame.info.frames(inNanoseconds: intervalNanoseconds)) * frame.channelCount
        var level = levels[stream] ?? Level()
        let samples = frame.samples
        var next = 0
        while next < samples.count {
            let end = min(samples.count, next + length - level.count)
            level.add(samples.extracting(next..<end))
            next = end
            guard level.count == length else { continue }
            post(level, stream)
            level = Level()
        }
        levels[stream] = level
    }

    private func post(_ level: Level, _ stream: SpeakerStream) {
        registration?.post(
            Structure(
                Self.messageName,
                [("stream", stream.kind), ("rms", level.rms), ("peak", level.peak)]
                    + (stream.user.map { [("user", $0.name)] } ?? [])))
    }

    package static let messageDeclaration = MessageDeclaration(
        messageName, "The level of one of the streams, from handler=level",
        fields: [
            ("stream", "string", "mixed, one-way or shared"), ("user", "string", "the user of a one-way stream"),
            ("rms", "double", "root mean square, in decibels relative to full scale"),
            ("peak", "double", "largest sample, in decibels relative to full scale"),
        ])
}

/// The sum and the maximum of squared samples, from which the level is computed. GStreamer's `level` calls them,
/// normalized, the cumulative and peak square.
struct Level {
    private(set) var count = 0
    private var sum = 0.0
    private var largest = 0.0

    mutating func add(_ samples: borrowing Span<Int16>) {
        // Integer arithmetic is exact: the sum of a block's 32-bit squares can't overflow 64 bits.
        var (sum, largest) = (Int64(0), Int64(0))
        for index in samples.indices {
            let square = Int64(samples[index]) * Int64(samples[index])
            sum += square
            largest = max(largest, square)
        }
        self.sum += Double(sum)
        self.largest = max(self.largest, Double(largest))
        count += samples.count
    }

    private static let fullScale = 32768.0 * 32768.0
    /// The offset that `level` adds, so that silence has a finite level.
    private static let epsilon = 1e-35

    var rms: Double { 20 * log10((sum / Self.fullScale / Double(max(count, 1))).squareRoot() + Self.epsilon) }
    var peak: Double { 10 * log10(largest / Self.fullScale + Self.epsilon) }
}
