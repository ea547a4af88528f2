import GStreamer

/// Which running time each sample of a microphone's stream has: counted from the first block's, and told anew only behind a
/// pause. Pure.
struct SampleTimeline: Sendable {
    /// How far a timestamp that was given may be off what the samples before it come to: those of a jittering capture are.
    /// GStreamer's own sinks, mixers and aligners allow as much.
    static let tolerance: Int64 = 40_000_000
    /// A longer way ahead is a new beginning rather than a pause: it isn't filled.
    static let longestPause: Int64 = 10_000_000_000

    /// What lies between the sound so far and a block.
    enum Gap: Equatable {
        case none
        /// So many frames of silence.
        case silence(Int)
        /// The stream begins anew, or begins.
        case jump
    }

    private var info: AudioInfo
    private var anchor = ClockTime.zero
    /// Since the anchor.
    private var frames = 0
    private(set) var hasBegun = false
    /// Silence has gone out for sound that didn't come: the next block says itself when it is.
    private(set) var isPaused = false
    /// By how much later than they were given blocks go out: those of a sender that is late for good.
    private(set) var delay: Int64 = 0

    init(_ info: AudioInfo) { self.info = info }

    /// Running time of the frame that is so many after the next to go out.
    func time(ofFrame offset: Int = 0) -> ClockTime {
        ClockTime(nanoseconds: anchor.nanoseconds + info.duration(ofFrames: frames + offset).nanoseconds)
    }

    /// What is to go out before a block whose sender says that it belongs at `time`; `waiting` frames are ahead of it.
    /// The same question may be asked again once that has gone out.
    mutating func gap(before time: ClockTime, isGiven: Bool, waiting: Int) -> Gap {
        guard hasBegun else { return .jump }
        guard isGiven || isPaused else { return .none }
        // Who was late for good once, is not when he has made up for it.
        if !isGiven || isPaused && Int64(clamping: time.nanoseconds) >= place(waiting) { delay = 0 }
        var difference = lateness(of: time, waiting: waiting)
        // What is missing makes up for what was late.
        if difference > Self.tolerance {
            let made = min(difference, delay)
            delay -= made
            difference -= made
        }
        if difference > Self.longestPause { return .jump }
        if difference > (isPaused ? 0 : Self.tolerance) {
            let count = info.frames(in: ClockTime(nanoseconds: UInt64(difference)))
            return count > 0 ? .silence(count) : .none
        }
        if isGiven, isPaused || difference < -Self.tolerance { delay -= difference }
        return .none
    }

    /// By how much later than its place behind `waiting` frames a block belongs at `time`, in nanoseconds.
    func lateness(of time: ClockTime, waiting: Int) -> Int64 {
        Int64(clamping: time.nanoseconds) + delay - place(waiting)
    }

    private func place(_ waiting: Int) -> Int64 { Int64(clamping: time(ofFrame: waiting).nanoseconds) }

    /// So many nanoseconds of sound are left out, so that what comes next is less late.
    mutating func makeUp(_ duration: Int) { delay = max(0, delay - Int64(duration)) }

    /// The next frame has this time.
    mutating func begin(at time: ClockTime) {
        (anchor, frames, delay) = (time, 0, 0)
        (hasBegun, isPaused) = (true, false)
    }

    /// So many frames have gone out.
    mutating func count(_ frames: Int) { self.frames += frames }

    mutating func pause() { isPaused = true }
    /// The next block says when it is, whatever was before.
    mutating func end() { hasBegun = false }
    mutating func resume() { isPaused = false }

    /// The rate that frames are counted by is another from here on.
    mutating func change(to info: AudioInfo) {
        anchor = time()
        frames = 0
        self.info = info
    }
}
