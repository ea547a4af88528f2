import GStreamer

/// What a microphone's streaming thread makes of the blocks it gets: one format, regular lengths, and a time for each sample.
///
/// Blocks are collected to 10 ms, what GStreamer's own audio sources give: a block of one sample costs no buffer of its own,
/// and a whole one goes through untouched. Sound whose sender's clock runs off is kept in step. Belongs to the streaming thread.
final class BlockAssembler {
    private static let period = ClockTime.milliseconds(10)

    /// What was done to keep sound in step.
    enum Step {
        /// It is resampled from here on, having been late by this much.
        case resampled(Double)
        /// So many frames of silence were put in, or of sound left out.
        case filled(Int)
        case skipped(Int)
    }

    private let quality: Int
    private let correction: DriftCorrection
    private var drift: ClockDrift
    private var resampler: AdaptiveResampler?
    private let waiting = BufferAdapter()
    private var converter: AudioConverter?
    private var input: AudioInfo?
    private(set) var output: AudioInfo?
    private(set) var timeline: SampleTimeline
    /// The next piece doesn't follow on the last.
    private var isDiscontinuous = false
    /// Silence that is to go out behind what waits.
    private var silence = 0
    /// Sound that isn't to go out.
    private var excess = 0
    /// What stands in the queue while blocks go out late.
    private var standing = StandingQueue()

    /// `aheadLimit`: what is sent earlier than this isn't sent by a clock.
    init(quality: Int, drift correction: DriftCorrection, aheadLimit: ClockTime) {
        self.quality = quality
        self.correction = correction
        drift = ClockDrift(correction, aheadLimit: aheadLimit.seconds)
        timeline = SampleTimeline(AudioInfo(.s16, rate: 48000, channels: 1)!)
    }

    private var waitingFrames: Int { output.map { waiting.available / $0.bytesPerFrame } ?? 0 }

    /// Frames that are ahead of the next to come.
    private var framesAhead: Int { waitingFrames + (converter?.held ?? 0) + (resampler?.held ?? 0) - excess }

    /// How long a sample stays here beyond its time: the same whether it is kept in step already or not.
    var delay: ClockTime {
        ClockTime(
            nanoseconds: Self.period.nanoseconds + (converter?.delay.nanoseconds ?? 0)
                + (resampler?.delay.nanoseconds ?? 0))
    }

    /// When the next sample to come is due.
    var due: ClockTime { timeline.time(ofFrame: framesAhead) }

    func needsFormat(_ input: AudioInfo) -> Bool { self.input != input }

    /// What comes next is `input`, and goes out as `output`. Everything of before must have been `finish`ed and taken. False
    /// where there is no way from one to the other.
    func setFormat(_ input: AudioInfo, _ output: AudioInfo) -> Bool {
        timeline.change(to: output)
        drift.pause()
        self.output = output
        self.input = input
        converter = nil
        // Made before it is needed, if ever: that takes longer than a block lasts, and LATENCY is to stay as it is.
        resampler = correction == .resample ? AdaptiveResampler(output, quality: quality) : nil
        guard correction != .resample || resampler != nil else { return false }
        guard input != output else { return true }
        converter = AudioConverter(from: input, to: output, quality: quality)
        return converter != nil
    }

    /// Silence is on its way out.
    var isFilling: Bool { silence > 0 }

    /// What comes next is of a new format, whatever it is. Everything of before must have been finished and taken.
    func forgetFormats() {
        input = nil
        output = nil
        converter = nil
        resampler = nil
    }

    /// What has to go out before this block; the caller has that taken, and asks again.
    func gap(before block: QueuedBlock, isLive: Bool) -> SampleTimeline.Gap {
        guard silence == 0 else { return .silence(silence) }
        // As fast as it is taken, nothing arrives at a time.
        guard isLive || block.isGiven else { return timeline.hasBegun ? .none : .jump }
        return timeline.gap(
            before: block.access.presentationTimestamp ?? .zero, isGiven: block.isGiven, waiting: framesAhead)
    }

    /// Whether to leave a block out that has no `gap` before it, so as not to be late any more; `queued` nanoseconds of sound
    /// wait behind it, and `held` are what may wait for reasons of ours.
    ///
    /// Silence goes out for sound that doesn't come. What comes late at its own pace goes out behind that, as late as it is. What a
    /// device hands over at once when it wakes would be as late, and all behind it, too: it stands in the queue by then. Sound
    /// that comes in pieces is late by a piece at most, so its queue is empty within as much as it is late; a block longer than
    /// that would leave a hole behind it.
    func makesUp(for block: QueuedBlock, queued: Int, held: Int) -> Bool {
        guard timeline.delay > SampleTimeline.tolerance else {
            standing = StandingQueue()
            return false
        }
        let delay = Int(timeline.delay)
        let isLeftOut = standing.leavesOut(block.weight, queued: queued, window: delay + held) && block.weight <= delay
        if isLeftOut { timeline.makeUp(block.weight) }
        return isLeftOut
    }

    /// The next sample has this time, whatever was before.
    func begin(at time: ClockTime) {
        isDiscontinuous = true
        drift.pause()
        timeline.begin(at: time)
    }

    /// The same of sound that came then and says nothing itself: behind what went out before, where that was sent ahead.
    func beginBehind(_ time: ClockTime) {
        let end = timeline.time()
        let isOfOneTime = end.nanoseconds <= time.nanoseconds + 1_000_000_000
        begin(at: isOfOneTime ? max(time, end) : time)
    }

    /// The sound has stopped, with all that belongs to it gone: a live stream's next block says itself when it is.
    func stop(isLive: Bool) { if isLive { timeline.end() } }

    /// Looks at when a block came that is to be pushed next, and does what keeps sound in step.
    func keepInStep(_ block: QueuedBlock) -> Step? {
        guard correction != .none, let output else { return nil }
        if timeline.isPaused { drift.pause() }
        let lateness = timeline.lateness(of: block.access.presentationTimestamp ?? .zero, waiting: framesAhead)
        let wasCorrecting = drift.ratio != nil
        drift.observe(Double(lateness) / 1e9, lasting: Double(block.weight) / 1e9)
        if let skew = drift.takeSkew() {
            let frames = output.frames(in: ClockTime(nanoseconds: UInt64(abs(skew) * 1e9)))
            if skew < 0 { excess += frames } else { silence += frames }
            return skew < 0 ? .skipped(frames) : .filled(frames)
        }
        return drift.ratio != nil && !wasCorrecting ? .resampled(drift.offset ?? 0) : nil
    }

    /// False when it can't be converted.
    func push(_ block: consuming Buffer) -> Bool {
        timeline.resume()
        guard let converter else { return pushConverted(block) }
        guard let converted = converter.convert(block.access) else { return false }
        return pushConverted(converted)
    }

    private func pushConverted(_ sound: consuming Buffer) -> Bool {
        guard sound.access.size > 0 else { return true }
        if let ratio = drift.ratio, let resampler {
            if resampler.isPrimed {
                guard let resampled = resampler.convert(sound.access, ratio: ratio) else { return false }
                if resampled.access.size > 0 { waiting.push(resampled) }
                return true
            }
            guard resampler.prime(sound.access) else { return false }
        }
        waiting.push(sound)
        skip()
        return true
    }

    private func skip() {
        let frames = min(excess, waitingFrames)
        guard frames > 0, let output else { return }
        waiting.skip(frames * output.bytesPerFrame)
        excess -= frames
    }

    /// No more follows on what came so far: the filters give the rest. True when something waits to be taken then.
    func finish() -> Bool {
        if let rest = converter?.drain() { _ = pushConverted(rest) }
        if let rest = resampler?.drain(), rest.access.size > 0 { waiting.push(rest) }
        excess = 0
        return waiting.available > 0
    }

    /// Nothing comes: silence takes its place, behind what waits; so many frames, or one piece.
    func fill(_ frames: Int? = nil) {
        guard let output else { return }
        timeline.pause()
        silence = frames ?? output.frames(in: Self.period)
    }

    /// The next piece that is whole, or all that is left of sound and of silence when `isLast`; `nil`: there is none.
    func take(isLast: Bool) -> Buffer? {
        guard let output else { return nil }
        let period = output.frames(in: Self.period)
        if waitingFrames >= (isLast ? 1 : period) { return piece(min(waitingFrames, period), isGap: false) }
        guard silence > 0 else { return nil }
        return piece(min(silence, period), isGap: true)
    }

    private func piece(_ frames: Int, isGap: Bool) -> Buffer? {
        guard let output else { return nil }
        let bytes = frames * output.bytesPerFrame
        guard let buffer = isGap ? Buffer(filledWith: 0, count: bytes) : waiting.take(bytes) else { return nil }
        // Every element plays the samples of a buffer; some let a GAP event pass without a sound for it (wavenc's files
        // would be too short, a sender's clock too fast), and those that know the flag save the work.
        if isGap {
            buffer.access.isGap = true
            silence -= frames
        }
        let begin = timeline.time()
        timeline.count(frames)
        buffer.access.presentationTimestamp = begin
        buffer.access.duration = ClockTime(nanoseconds: timeline.time().nanoseconds - begin.nanoseconds)
        if isDiscontinuous {
            buffer.access.markDiscontinuous()
            isDiscontinuous = false
        }
        return buffer
    }

    /// A flush: what waits is lost, and the next block begins anew.
    func reset() {
        waiting.clear()
        _ = converter?.drain()
        _ = resampler?.drain()
        (silence, excess) = (0, 0)
        drift.pause()
        // Running time may be another behind it.
        timeline.begin(at: .zero)
        timeline.end()
    }
}
