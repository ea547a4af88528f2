import GStreamer
import MediaGraph
import MediaGraphTesting
import Synchronization

/// A film that flashes and beeps once a second, at the same moment, to measure whether picture and sound are in sync.
///
/// It has a source for a `videosource` and one for a `virtualmic`, each with its own clock drift and jitter. `play`
/// sends both along a test clock.
public struct BeepAndFlash: Sendable {
    /// The frame rate of the picture.
    public static let frameRate = Fraction(25, 1)
    private static let size = 16

    /// Returns the bytes of a frame by its number: white for a tenth of a second in each second, otherwise black.
    public static func frame(_ index: Int) -> [UInt8] {
        [UInt8](repeating: (12..<15).contains(index % 25) ? 235 : 16, count: size * size)
            + [UInt8](repeating: 128, count: size * size / 2)
    }

    /// Returns the description of a frame with this timestamp.
    public static func description(at time: ClockTime?) -> FrameDescription {
        FrameDescription(
            width: size, height: size, format: .i420Limited, framesPerSecond: frameRate, timestamp: time)
    }

    /// Returns a block of 10 ms by its number, 48 kHz mono: a tone of 2 kHz for a tenth of a second in each second,
    /// otherwise silence.
    public func sound(_ index: Int) -> [Int16] {
        let tone = Sine(2000, rate: 48000)
        return (index * 480..<index * 480 + 480).map { sample in
            let time = Double(sample) / 48000 * (1 + pictureDrift) / (1 + soundDrift)
            let second = time - time.rounded(.down)
            return second >= 0.48 && second < 0.58 ? tone.samples(sample, 1)[0] : 0
        }
    }

    /// How much the clocks of picture and sound run fast, as a fraction.
    public var (pictureDrift, soundDrift) = (0.0, 0.0)
    /// How many seconds frames and blocks may be sent early or late.
    public var (pictureJitter, soundJitter) = (0.0, 0.0)
    /// Whether frames and blocks carry the time at which they were captured, by the graph's clock.
    public var (pictureIsStamped, soundIsStamped) = (false, false)

    /// The seed of the jitter.
    public var seed: UInt64 = 1

    /// The source for a `videosource`.
    public let camera = RecordingSource()
    /// The source for a `virtualmic`.
    public let microphone = RecordingMic()

    /// Creates a film without drift and jitter.
    public init() {}

    /// The schedule of frames or of blocks.
    private struct Pump {
        private let period: Double
        /// The times of sending, in seconds, in order, each off by at most the jitter.
        private let arrivals: [Double]
        private(set) var index = 0

        init(count: Int, period: Double, drift: Double, jitter: Double, seed: UInt64) {
            self.period = period / (1 + drift)
            var random = SplitMix64(state: seed)
            let start = 0.1
            arrivals = (0..<count).map {
                start + Double($0) * period / (1 + drift) + Double.random(in: -1...1, using: &random) * jitter
            }.sorted()
        }

        var now: Double { index < arrivals.count ? arrivals[index] : .infinity }
        /// The time at which the current frame or block was captured.
        var taken: ClockTime { .seconds(0.1 + Double(index) * period) }
        mutating func next() { index += 1 }
    }

    /// Sends this many seconds of film, and the ends of both streams, into a graph that uses `clock`. The clock waits
    /// until the frames and blocks that are due have been delivered, so a busy machine doesn't affect the result.
    public func play(seconds: Int, on clock: TestClock, _ watch: BeepAndFlashWatch) throws {
        var picture = Pump(
            count: seconds * 25, period: 0.040, drift: pictureDrift, jitter: pictureJitter, seed: seed)
        var sound = Pump(
            count: seconds * 100, period: 0.010, drift: soundDrift, jitter: soundJitter, seed: seed + 100)
        while min(picture.now, sound.now) < .infinity {
            let isPicture = picture.now < sound.now
            clock.advance(to: max(clock.time, .seconds(min(picture.now, sound.now))))
            if isPicture {
                let time = pictureIsStamped ? picture.taken : nil
                try sendNow(camera.sender, Self.frame(picture.index), Self.description(at: time))
                picture.next()
                // A source whose clock is fast sends more blocks than the graph plays.
                let due = Int(Double(sound.index) * (1 - abs(soundDrift))) - 20
                guard waitUntil({ watch.frameCount >= picture.index - 8 && watch.blockCount >= due })
                else { throw MediaGraphError.timeOut(.init("what was sent", actual: "\(watch.frameCount) frames")) }
            } else {
                let time = soundIsStamped ? sound.taken : nil
                try sendNow(microphone.sender, self.sound(sound.index), rate: 48000, at: time)
                sound.next()
            }
        }
        camera.sender.endOfStream()
        microphone.sender.endOfStream()
        clock.advance(by: .seconds(2))
    }

    /// Sends numbered frames and this many seconds of beeps while they play, from threads that end with the graph.
    public func sendLive(seconds: Int) throws {
        let frames = try (0..<UInt32(seconds * 25)).map {
            try TestFrame.numbered($0, width: 128, height: 72, rate: Self.frameRate)
        }
        NativeThread("frames") { [camera] in
            for frame in frames {
                guard let time = frame.timestamp, camera.sender.wait(until: time) else { return }
                let description = FrameDescription(
                    width: frame.width, height: frame.height, format: frame.format, framesPerSecond: Self.frameRate,
                    timestamp: time)
                try? sendNow(camera.sender, frame.bytes, description)
            }
        }.detach()
        NativeThread("beeps") { [self] in
            var random = SplitMix64(state: seed)
            for index in 0..<seconds * 100 {
                let time = ClockTime.milliseconds(UInt64(index) * 10)
                guard microphone.sender.wait(until: time) else { return }
                // Noise, as of a real microphone: packets of silence are all alike.
                let noisy = sound(index).map { $0 + Int16.random(in: -20...20, using: &random) }
                try? sendNow(microphone.sender, noisy, at: time)
            }
        }.detach()
    }

    /// Sends this many seconds of film, and the ends of both streams, as fast as the graph accepts them.
    public func send(seconds: Int) {
        let pumps = [
            NativeThread("flashes") { [camera] in
                for index in 0..<seconds * 25 {
                    try? sendNow(
                        camera.sender, Self.frame(index), Self.description(at: .milliseconds(UInt64(index) * 40)))
                }
                camera.sender.endOfStream()
            },
            NativeThread("beeps") { [self] in
                for index in 0..<seconds * 100 { try? sendNow(microphone.sender, sound(index)) }
                microphone.sender.endOfStream()
            },
        ]
        for pump in pumps { pump.join() }
    }
}

/// Records the running times of the frames and samples at which flashes and beeps begin.
public final class BeepAndFlashWatch: Sendable {
    private struct Seen: Sendable {
        var flashes: [Double] = []
        var beeps: [Double] = []
        var (frames, blocks) = (0, 0)
        var isBright = false
        /// The number of samples since the last loud one.
        var quiet = 48000
    }

    private let seen = Mutex(Seen())

    /// Creates a watch; ``attach(to:pipe:speaker:)`` starts it.
    public init() {}

    /// The number of frames that have arrived.
    public var frameCount: Int { seen.withLock { $0.frames } }
    /// The number of blocks that have arrived.
    public var blockCount: Int { seen.withLock { $0.blocks } }
    /// The running times of the flashes, in seconds.
    public var flashes: [Double] { seen.withLock { $0.flashes } }
    /// The running times of the beeps, in seconds.
    public var beeps: [Double] { seen.withLock { $0.beeps } }
    /// The time from each flash to its beep, in seconds.
    public var differences: [Double] { zip(beeps, flashes).map { $0 - $1 } }

    /// Attaches to a pipe and to a speaker that has one user.
    public func attach(to graph: Graph, pipe: String = "pipe", speaker: String = "speaker") throws {
        try graph.rawDataPipe(pipe).receive { [self] in look(at: $0) }
        try graph.virtualSpeaker(speaker).receive { [self] in
            if case .oneWay = $1 { listen(to: $0) }
        }
    }

    private func look(at frame: borrowing VideoFrame) {
        let (isBright, time) = (frame.packedBytes[0] > 120, frame.runningTime?.seconds ?? -1)
        seen.withLock { seen in
            seen.frames += 1
            if isBright, !seen.isBright { seen.flashes.append(time) }
            seen.isBright = isBright
        }
    }

    public func listen(to frame: borrowing AudioFrame) {
        let (time, rate, samples) = (frame.runningTime?.seconds ?? -1, Double(frame.sampleRate), frame.samples)
        seen.withLock { seen in
            seen.blocks += 1
            for index in samples.indices {
                seen.quiet += 1
                guard samples[index].magnitude > 6000 else { continue }
                if seen.quiet > 12000 { seen.beeps.append(time + Double(index) / rate) }
                seen.quiet = 0
            }
        }
    }
}
