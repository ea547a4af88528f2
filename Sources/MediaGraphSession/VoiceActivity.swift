import GStreamer

/// Decides by the level of a microphone's sound whether its user speaks.
///
/// The decision needs no clock: time is the duration of the sound.
struct VoiceActivity: Sendable {
    /// Levels are compared over windows of this duration, which is shorter than a syllable.
    static let window: UInt64 = 100_000_000
    /// Speech begins with this level: RMS −40 dB relative to full scale, quiet speech at a usual gain.
    static let beginning = 1e-4
    /// How long speech must last to begin, in nanoseconds. A click is loud in one window only.
    static let timeToBegin: UInt64 = 200_000_000
    /// A speaker is silent below this level, RMS −50 dB. Lower than `beginning`, so that a level between the two changes
    /// nothing.
    static let ending = 1e-5
    /// How long silence must last to end speech, in nanoseconds. Pauses between words are shorter.
    static let timeToEnd: UInt64 = 600_000_000

    private(set) var isSpeaking = false
    /// The sum of the mean squares in the current window, each times its duration, and the window's duration so far.
    private var (energy, time) = (0.0, UInt64(0))
    /// How long the windows in a row have lasted that speak against `isSpeaking`.
    private var contradicting: UInt64 = 0

    /// Adds a block of sound with its duration in nanoseconds. Returns whether `isSpeaking` has changed.
    @discardableResult
    mutating func add(meanSquare: Double, nanoseconds: UInt64) -> Bool {
        energy += meanSquare * Double(nanoseconds)
        time += nanoseconds
        guard time >= Self.window else { return false }
        let level = energy / Double(time)
        contradicting = (isSpeaking ? level < Self.ending : level >= Self.beginning) ? contradicting + time : 0
        (energy, time) = (0, 0)
        guard contradicting >= (isSpeaking ? Self.timeToEnd : Self.timeToBegin) else { return false }
        isSpeaking.toggle()
        contradicting = 0
        return true
    }
}
