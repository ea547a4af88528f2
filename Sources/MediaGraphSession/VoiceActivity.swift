import GStreamer

/// Decides by the level of a microphone's sound whether its user speaks.
///
/// The decision needs no clock: time is the duration of the sound.
struct VoiceActivity: Sendable {
    /// Levels are compared over windows of this duration, which is shorter than a syllable.
    static let window: UInt64 = 100_000_000
    /// Speech begins with this level: RMS −40 dB relative to full scale, quiet speech at a usual gain.
    static let beginning = 1e-4
    /// The number of windows in a row that begin speech. A click is loud in one only.
    static let windowsToBegin = 2
    /// A speaker is silent below this level, RMS −50 dB. Lower than `beginning`, so that a level between the two changes
    /// nothing.
    static let ending = 1e-5
    /// The number of silent windows in a row that end speech. Pauses between words are shorter.
    static let windowsToEnd = 6

    private(set) var isSpeaking = false
    /// The sum of the mean squares in the current window, each times its duration, and the window's duration so far.
    private var (energy, time) = (0.0, UInt64(0))
    /// The number of windows in a row that speak against `isSpeaking`.
    private var contradicting = 0

    /// Adds a block of sound with its duration in nanoseconds. Returns whether `isSpeaking` has changed.
    mutating func add(meanSquare: Double, nanoseconds: UInt64) -> Bool {
        energy += meanSquare * Double(nanoseconds)
        time += nanoseconds
        guard time >= Self.window else { return false }
        let level = energy / Double(time)
        // A long block counts as several windows.
        let windows = Int(time / Self.window)
        (energy, time) = (0, 0)
        contradicting = (isSpeaking ? level < Self.ending : level >= Self.beginning) ? contradicting + windows : 0
        guard contradicting >= (isSpeaking ? Self.windowsToEnd : Self.windowsToBegin) else { return false }
        isSpeaking.toggle()
        contradicting = 0
        return true
    }
}
