import GStreamer

/// Makes buffers from the blocks that a microphone sends: of one format, of regular length, with a time for each
/// sample.
///
/// The assembler collects blocks into buffers of 10 ms, as GStreamer's own audio sources produce. So a block of one
/// sample doesn't become a buffer, and a block of 10 ms passes without a copy. The assembler also corrects the drift of
/// the sender's clock. Only the streaming thread uses the assembler.
final class BlockAssembler {
    private static let periodNanoseconds: UInt64 = 10_000_000

    /// A correction of the sender's clock drift.
    enum Step {
        /// The sound was late by this many seconds, and is resampled from now on.
        case resampled(Double)
        /// This many frames of silence were inserted.
        case filled(Int)
        /// This many frames of sound are dropped.
        case skipped(Int)
    }

    private let quality: Int
    private let correction: DriftCorrection
    private var drift: ClockDrift
    private var resampler: AdaptiveResampler?
    private let waiting = BufferAdapter()
    private var converter: AudioConverter?
    private(set) var input: AudioInfo?
    private(set) var output: AudioInfo?
    private(set) var timeline: SampleTimeline
    /// Whether the next buffer is discontinuous with the previous one.
    private var isDiscontinuous = false
    /// Frames of silence that go out after the waiting sound.
    private var silence = 0
    /// Frames of sound that are still to be dropped.
    private var excess = 0
    /// Detects a standing queue while blocks go out late.
    private var standing = StandingQueue()

    /// `aheadLimit` is passed to `ClockDrift`: a sender that is further ahead doesn't send by a clock.
    init(quality: Int, drift correction: DriftCorrection, aheadLimit: Duration) {
        self.quality = quality
        self.correction = correction
        drift = ClockDrift(correction, aheadLimit: aheadLimit.seconds)
        timeline = SampleTimeline(AudioInfo(.s16, rate: 48000, channels: 1)!)
    }

    private var waitingFrames: Int { output.map { waiting.available / $0.bytesPerFrame } ?? 0 }

    /// The number of frames that go out before the next frame that arrives.
    private var framesAhead: Int { waitingFrames + (converter?.held ?? 0) + (resampler?.held ?? 0) - excess }

    /// How much latency the assembler adds. Doesn't change when resampling begins.
    var delay: Duration {
        .nanoseconds(Self.periodNanoseconds) + (converter?.delay ?? .zero) + (resampler?.delay ?? .zero)
    }

    /// The running time of the next sample that arrives.
    var due: ClockTime { timeline.time(ofFrame: framesAhead) }

    /// Returns whether `setFormat` must be called before blocks of this format.
    func needsFormat(_ input: AudioInfo) -> Bool { self.input != input }

    /// Sets the format of the next blocks, and the format of the buffers made from them. Call `finish` and take all
    /// buffers first. Returns false if `input` can't be converted to `output`.
    func setFormat(_ input: AudioInfo, _ output: AudioInfo) -> Bool {
        timeline.change(to: output)
        drift.pause()
        self.output = output
        self.input = input
        converter = nil
        // Make the resampler now, although it may never be needed: making it takes longer than a block lasts, and the
        // latency mustn't change later.
        resampler = correction == .resample ? AdaptiveResampler(output, quality: quality) : nil
        guard correction != .resample || resampler != nil else { return false }
        guard input != output else { return true }
        converter = AudioConverter(from: input, to: output, quality: quality)
        return converter != nil
    }

    /// Whether silence is still to go out.
    var isFilling: Bool { silence > 0 }

    /// Makes `needsFormat` true for any format. Call `finish` and take all buffers first.
    func forgetFormats() {
        input = nil
        output = nil
        converter = nil
        resampler = nil
    }

    /// Returns the gap before a block. For silence, the caller sends the silence and then asks again.
    func gap(before block: QueuedBlock, isLive: Bool) -> SampleTimeline.Gap {
        guard silence == 0 else { return .silence(silence) }
        // With `pace=fast` the time of arrival has no meaning.
        guard isLive || block.isGiven else { return timeline.hasBegun ? .none : .jump }
        return timeline.gap(
            before: block.access.presentationTimestamp ?? .zero, isGiven: block.isGiven, waiting: framesAhead)
    }

    /// Returns whether to drop a block, which has no `gap` before it, because the sound is late; if so, reduces the
    /// delay.
    ///
    /// Silence goes out in place of missing sound. If that sound then arrives late but at its own pace, it goes out
    /// after the silence, with the same delay. But a device that wakes up may deliver all missing sound at once. This
    /// sound, and all sound after it, would be late for good, because it stands in the queue. Sound that normally
    /// arrives in bursts is late by one burst at most, so its queue becomes empty within a time as long as the delay. A
    /// block longer than the delay isn't dropped: dropping it would leave a gap after it.
    ///
    /// - Parameters:
    ///   - queued: nanoseconds of sound that wait after the block.
    ///   - held: nanoseconds of sound that may wait in the queue for other reasons.
    func shouldDrop(for block: QueuedBlock, queued: Int, held: Int) -> Bool {
        guard timeline.delay > SampleTimeline.tolerance else {
            standing = StandingQueue()
            return false
        }
        let delay = Int(timeline.delay)
        let isDropped = standing.shouldDrop(block.weight, queued: queued, window: delay + held) && block.weight <= delay
        if isDropped { timeline.reduceDelay(block.weight) }
        return isDropped
    }

    /// Starts the timeline anew, with the next sample at this time.
    func begin(at time: ClockTime) {
        isDiscontinuous = true
        drift.pause()
        timeline.begin(at: time)
    }

    /// Starts the timeline anew with sound that arrived at this time and has no timestamp. If the previous sound was
    /// sent ahead of its time, the new sound begins where the previous sound ended.
    func beginAfterArrival(_ time: ClockTime) {
        let end = timeline.time()
        // An end that is more than a second ahead belongs to another running time.
        let isComparable = end.nanoseconds <= time.nanoseconds + 1_000_000_000
        begin(at: isComparable ? max(time, end) : time)
    }

    /// Called when sending has stopped and all sound has gone out. In a live stream the next block begins a new
    /// timeline.
    func stop(isLive: Bool) { if isLive { timeline.end() } }

    /// Measures the drift with the arrival of a block that is pushed next. Returns the correction that begins now, if
    /// any.
    func correctDrift(_ block: QueuedBlock) -> Step? {
        guard correction != .none, let output else { return nil }
        if timeline.isPaused { drift.pause() }
        let lateness = timeline.lateness(of: block.access.presentationTimestamp ?? .zero, waiting: framesAhead)
        let wasCorrecting = drift.ratio != nil
        drift.observe(Double(lateness) / 1e9, lasting: Double(block.weight) / 1e9)
        if let skew = drift.takeSkew() {
            let frames = output.frames(inNanoseconds: UInt64(abs(skew) * 1e9))
            if skew < 0 { excess += frames } else { silence += frames }
            return skew < 0 ? .skipped(frames) : .filled(frames)
        }
        return drift.ratio != nil && !wasCorrecting ? .resampled(drift.offset ?? 0) : nil
    }

    /// Takes in a block. Returns false if the block can't be converted.
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

    /// Drops excess frames from the waiting sound.
    private func skip() {
        let frames = min(excess, waitingFrames)
        guard frames > 0, let output else { return }
        waiting.skip(frames * output.bytesPerFrame)
        excess -= frames
    }

    /// Ends the sound so far by draining the filters. Returns true if sound waits to be taken.
    func finish() -> Bool {
        if let rest = converter?.drain() { _ = pushConverted(rest) }
        if let rest = resampler?.drain(), rest.access.size > 0 { waiting.push(rest) }
        excess = 0
        return waiting.available > 0
    }

    /// Adds silence after the waiting sound because no sound arrives: this number of frames, or 10 ms.
    func fill(_ frames: Int? = nil) {
        guard let output else { return }
        timeline.pause()
        silence = frames ?? output.frames(inNanoseconds: Self.periodNanoseconds)
    }

    /// Returns the next buffer of 10 ms, of sound or silence; `nil` if there is none. Returns a shorter buffer of sound
    /// only if `isLast` is true.
    func take(isLast: Bool) -> Buffer? {
        guard let output else { return nil }
        let period = output.frames(inNanoseconds: Self.periodNanoseconds)
        if waitingFrames >= (isLast ? 1 : period) { return piece(min(waitingFrames, period), isGap: false) }
        guard silence > 0 else { return nil }
        return piece(min(silence, period), isGap: true)
    }

    private func piece(_ frames: Int, isGap: Bool) -> Buffer? {
        guard let output else { return nil }
        let bytes = frames * output.bytesPerFrame
        guard let buffer = isGap ? Buffer(filledWith: 0, count: bytes) : waiting.take(bytes) else { return nil }
        // Send silence as a buffer with the GAP flag, not as a GAP event. Every element handles a buffer's samples, but
        // some elements ignore GAP events: wavenc's files would be too short, and a network sender's clock too fast.
        // Elements that support the flag skip the work.
        if isGap {
            buffer.access.isGap = true
            silence -= frames
        }
        let begin = timeline.time()
        timeline.count(frames)
        buffer.access.presentationTimestamp = begin
        buffer.access.durationNanoseconds = timeline.time().nanoseconds - begin.nanoseconds
        if isDiscontinuous {
            buffer.access.markDiscontinuous()
            isDiscontinuous = false
        }
        return buffer
    }

    /// Drops all waiting sound because of a flush; the next block begins a new timeline.
    func reset() {
        waiting.clear()
        _ = converter?.drain()
        _ = resampler?.drain()
        (silence, excess) = (0, 0)
        drift.pause()
        // After a flush the running time may start anew.
        timeline.begin(at: .zero)
        timeline.end()
    }
}

/// Detects a standing queue, which delays all sound. A queue of sound that arrives in bursts, in contrast, is empty now
/// and then.
///
/// A queue is standing if its shortest length over a window of time isn't small (CoDel, RFC 8289). All lengths are in
/// nanoseconds of sound. Pure.
struct StandingQueue: Sendable {
    /// The shortest length in the current window.
    private var shortest = Int.max
    /// How much sound was taken from the queue in the current window.
    private var taken = 0
    private var isDropping = false

    /// Returns whether to drop the block that was just taken from the queue. Dropping begins when the queue has been
    /// standing for `window`, and ends when the queue is empty. `queued` is the queue's length after the block was
    /// taken.
    mutating func shouldDrop(_ block: Int, queued: Int, window: Int) -> Bool {
        guard !isDropping else {
            isDropping = queued > 0
            return isDropping
        }
        shortest = min(shortest, queued)
        taken += block
        guard taken >= window else { return false }
        isDropping = shortest > Int(SampleTimeline.tolerance)
        (shortest, taken) = (Int.max, 0)
        return isDropping
    }
}
