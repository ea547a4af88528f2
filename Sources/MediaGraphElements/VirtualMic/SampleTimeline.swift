import GStreamer

/// Gives each sample of a microphone's stream its running time, by counting samples from the first block. The times of
/// later blocks matter only after a pause, or if a sender's timestamp leaves a gap. Pure.
struct SampleTimeline: Sendable {
    /// How far a sender's timestamp may be from the end of the samples before it, in nanoseconds. Timestamps of a
    /// jittering capture differ by that much, and GStreamer's own sinks, mixers and aligners allow as much.
    static let tolerance: Int64 = 40_000_000
    /// A longer gap isn't filled with silence, but begins a new timeline. In nanoseconds.
    static let longestPause: Int64 = 10_000_000_000

    /// The gap between the sound so far and a block.
    enum Gap: Equatable {
        case none
        /// This many frames of silence.
        case silence(Int)
        /// A new timeline begins, or the first one.
        case jump
    }

    private var info: AudioInfo
    /// The running time from which frames are counted.
    private var anchor = ClockTime.zero
    /// The number of frames since the anchor.
    private var frames = 0
    private(set) var hasBegun = false
    /// Whether silence went out in place of missing sound. Then the next block's own time counts.
    private(set) var isPaused = false
    /// How much later than their timestamps blocks go out, in nanoseconds. Not zero for a sender that is permanently
    /// late.
    private(set) var delay: Int64 = 0

    init(_ info: AudioInfo) { self.info = info }

    /// Returns the running time of the frame that goes out `offset` frames after the next one.
    func time(ofFrame offset: Int = 0) -> ClockTime {
        ClockTime(nanoseconds: anchor.nanoseconds + info.durationNanoseconds(ofFrames: frames + offset))
    }

    /// Returns the gap before a block with the timestamp `time`, with `waiting` frames still to go out before the
    /// block. May be called again for the same block when the silence has gone out.
    mutating func gap(before time: ClockTime, isGiven: Bool, waiting: Int) -> Gap {
        guard hasBegun else { return .jump }
        guard isGiven || isPaused else { return .none }
        // A sender that has caught up is no longer late.
        if !isGiven || isPaused && Int64(clamping: time.nanoseconds) >= place(waiting) { delay = 0 }
        var difference = lateness(of: time, waiting: waiting)
        // Missing sound reduces the delay before it causes silence.
        if difference > Self.tolerance {
            let made = min(difference, delay)
            delay -= made
            difference -= made
        }
        if difference > Self.longestPause { return .jump }
        if difference > (isPaused ? 0 : Self.tolerance) {
            let count = info.frames(inNanoseconds: UInt64(difference))
            return count > 0 ? .silence(count) : .none
        }
        if isGiven, isPaused || difference < -Self.tolerance { delay -= difference }
        return .none
    }

    /// Returns how much later a block with the timestamp `time` belongs than its place after `waiting` frames, in
    /// nanoseconds.
    func lateness(of time: ClockTime, waiting: Int) -> Int64 {
        Int64(clamping: time.nanoseconds) + delay - place(waiting)
    }

    private func place(_ waiting: Int) -> Int64 { Int64(clamping: time(ofFrame: waiting).nanoseconds) }

    /// Reduces the delay because this many nanoseconds of sound were dropped.
    mutating func reduceDelay(_ duration: Int) { delay = max(0, delay - Int64(duration)) }

    /// Begins a new timeline, with the next frame at this time.
    mutating func begin(at time: ClockTime) {
        (anchor, frames, delay) = (time, 0, 0)
        (hasBegun, isPaused) = (true, false)
    }

    /// Counts frames that have gone out.
    mutating func count(_ frames: Int) { self.frames += frames }

    /// Records that silence goes out in place of missing sound.
    mutating func pause() { isPaused = true }
    /// Ends the timeline; the next block begins a new one.
    mutating func end() { hasBegun = false }
    /// Records that sound goes out again.
    mutating func resume() { isPaused = false }

    /// Changes the format, with which the following frames are counted.
    mutating func change(to info: AudioInfo) {
        anchor = time()
        frames = 0
        self.info = info
    }
}
