import GStreamer

/// Keeps a stream's timestamps true in a graph whose clock isn't the publisher's: those of sound cards differ by some 50 ppm, a
/// picture every ten minutes, and a mix would soon take everything for late.
///
/// A frame is passed on by reference while its timestamps are right to a millisecond, and then by another buffer on the same
/// memory. Belongs to the streaming thread.
final class ClockFollower {
    private static let tolerance: Int64 = 1_000_000

    private let timing: StreamTiming
    private let clock: Clock
    private let base: ClockTime
    private let announced: Int64
    private var correction: Int64 = 0

    /// `announced`: what `timing.offset` was when downstream was told of its segment. `nil` where both have one clock.
    init?(_ timing: StreamTiming, clock: Clock, baseTime base: ClockTime, announced: Int64) {
        guard clock != timing.clock else { return nil }
        (self.timing, self.clock, self.base, self.announced) = (timing, clock, base, announced)
    }

    /// The same frame at its time.
    func follow(_ buffer: consuming Buffer) -> Buffer {
        let drift = timing.offset(to: clock, baseTime: base) - announced
        if abs(drift - correction) > Self.tolerance { correction = drift }
        guard correction != 0 else { return buffer }
        let moved = buffer.access.alias
        moved.access.presentationTimestamp = moved.access.presentationTimestamp.map(shifted)
        moved.access.decodingTimestamp = moved.access.decodingTimestamp.map(shifted)
        return moved
    }

    private func shifted(_ time: ClockTime) -> ClockTime {
        let (moved, isOutside) = Int64(clamping: time.nanoseconds).addingReportingOverflow(correction)
        return isOutside ? time : ClockTime(nanoseconds: UInt64(max(0, moved)))
    }
}
