import GStreamer
import MediaGraph
import MediaGraphTesting
import Synchronization

/// A film that flashes and beeps once a second, at the same moment: what tells whether picture and sound are in step.
///
/// Each half has a clock of its own, and comes off its time: a source for a `videosource` and one for a `virtualmic`, which
/// `play` moves along a test clock.
public struct BeepAndFlash: Sendable {
    public static let frameRate = Fraction(25, 1)
    private static let size = 16

    /// Its frame of this number: white for a tenth of a second, else black.
    public static func frame(_ index: Int) -> [UInt8] {
        [UInt8](repeating: (12..<15).contains(index % 25) ? 235 : 16, count: size * size)
            + [UInt8](repeating: 128, count: size * size / 2)
    }

    public static func description(at time: ClockTime?) -> FrameDescription {
        FrameDescription(
            width: size, height: size, format: .i420Limited, framesPerSecond: frameRate, timestamp: time)
    }

    /// Its 10 ms of this number, 48 kHz mono: a tone of 2 kHz for a tenth of a second, else silence.
    public func sound(_ index: Int) -> [Int16] {
        let tone = Sine(2000, rate: 48000)
        return (index * 480..<index * 480 + 480).map { sample in
            let time = Double(sample) / 48000 * (1 + pictureDrift) / (1 + soundDrift)
            let second = time - time.rounded(.down)
            return second >= 0.48 && second < 0.58 ? tone.samples(sample, 1)[0] : 0
        }
    }

    /// By how much the clock of either half is fast.
    public var (pictureDrift, soundDrift) = (0.0, 0.0)
    /// Either comes so much before or after its time, in seconds.
    public var (pictureJitter, soundJitter) = (0.0, 0.0)
    /// Whether they say when they were taken; that is by the graph's clock.
    public var (pictureIsStamped, soundIsStamped) = (false, false)

    /// Of the jitter.
    public var seed: UInt64 = 1

    public let camera = RecordingSource()
    public let microphone = RecordingMic()

    public init() {}

    /// What is sent next, of either.
    private struct Pump {
        private let period: Double
        /// When things come, in seconds. Nothing overtakes what was before, and nothing is further off than the jitter.
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
        /// When it was taken.
        var taken: ClockTime { .seconds(0.1 + Double(index) * period) }
        mutating func next() { index += 1 }
    }

    /// Sends so many seconds into a graph that plays by this clock, and the ends. The clock stands still until what is due has
    /// come out, however busy the machine is.
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
                // A clock that is ahead sends more than the graph plays.
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

    /// Sends so many seconds as fast as they are taken, and the ends.
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

/// Notes when flashes and beeps arrive, by the running times of the frames and samples that they begin in.
public final class BeepAndFlashWatch: Sendable {
    private struct Seen: Sendable {
        var flashes: [Double] = []
        var beeps: [Double] = []
        var (frames, blocks) = (0, 0)
        var isBright = false
        /// Samples since the tone was heard last.
        var quiet = 48000
    }

    private let seen = Mutex(Seen())

    public init() {}

    public var frameCount: Int { seen.withLock { $0.frames } }
    public var blockCount: Int { seen.withLock { $0.blocks } }
    /// Seconds of running time.
    public var flashes: [Double] { seen.withLock { $0.flashes } }
    public var beeps: [Double] { seen.withLock { $0.beeps } }
    /// By how many seconds each beep came after its flash.
    public var differences: [Double] { zip(beeps, flashes).map { $0 - $1 } }

    /// Becomes the handler of both, of a speaker with one user.
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

    private func listen(to frame: borrowing AudioFrame) {
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
