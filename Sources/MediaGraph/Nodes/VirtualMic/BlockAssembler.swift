import GStreamer

/// What a microphone's streaming thread makes of the blocks it gets: one format, regular lengths, and a time for each sample.
///
/// Blocks are collected to 10 ms, what GStreamer's own audio sources give: a block of one sample costs no buffer of its own,
/// and a whole one goes through untouched. Belongs to the streaming thread.
final class BlockAssembler {
    private static let period = ClockTime.milliseconds(10)

    private let quality: Int
    private let waiting = BufferAdapter()
    private var converter: AudioConverter?
    private var input: AudioInfo?
    private(set) var output: AudioInfo?
    private(set) var timeline: SampleTimeline
    /// The next piece doesn't follow on the last.
    private var isDiscontinuous = false
    /// Silence that is to go out behind what waits.
    private var silence = 0

    init(quality: Int) {
        self.quality = quality
        timeline = SampleTimeline(AudioInfo(.s16, rate: 48000, channels: 1)!)
    }

    /// Without what the filter holds back.
    private var waitingFrames: Int { output.map { waiting.available / $0.bytesPerFrame } ?? 0 }

    /// How long a sample stays here beyond its time.
    var delay: ClockTime {
        ClockTime(nanoseconds: Self.period.nanoseconds + (converter?.delay.nanoseconds ?? 0))
    }

    /// When the next sample to come is due.
    var due: ClockTime { timeline.time(ofFrame: waitingFrames) }

    func needsFormat(_ input: AudioInfo) -> Bool { self.input != input }

    /// What comes next is `input`, and goes out as `output`. Everything of before must have been `finish`ed and taken. False
    /// where there is no way from one to the other.
    func setFormat(_ input: AudioInfo, _ output: AudioInfo) -> Bool {
        timeline.change(to: output)
        self.output = output
        self.input = input
        converter = nil
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
    }

    /// What has to go out before this block; the caller has that taken, and asks again.
    func gap(before block: QueuedBlock, isLive: Bool) -> SampleTimeline.Gap {
        guard silence == 0 else { return .silence(silence) }
        // As fast as it is taken, nothing arrives at a time.
        guard isLive || block.isGiven else { return timeline.hasBegun ? .none : .jump }
        return timeline.gap(
            before: block.access.presentationTimestamp ?? .zero, isGiven: block.isGiven, waiting: waitingFrames)
    }

    /// The next sample has this time, whatever was before.
    func begin(at time: ClockTime) {
        isDiscontinuous = true
        timeline.begin(at: time)
    }

    /// The sound has stopped, with all that belongs to it gone: a live stream's next block says itself when it is.
    func stop(isLive: Bool) { if isLive { timeline.end() } }

    /// False when it can't be converted.
    func push(_ block: consuming Buffer) -> Bool {
        timeline.resume()
        guard let converter else {
            waiting.push(block)
            return true
        }
        guard let converted = converter.convert(block.access) else { return false }
        if converted.access.size > 0 { waiting.push(converted) }
        return true
    }

    /// No more follows on what came so far: the filter gives the rest. True when something waits to be taken then.
    func finish() -> Bool {
        if let rest = converter?.drain(), rest.access.size > 0 { waiting.push(rest) }
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

    /// A flush: what waits is lost, and a live stream's next block begins anew.
    func reset(isLive: Bool) {
        waiting.clear()
        _ = converter?.drain()
        silence = 0
        if isLive { timeline.end() }
    }
}
