import GStreamer

/// Corrects a stream's timestamps in a graph whose clock isn't the publisher's. The clocks of two sound cards differ by
/// about 50 ppm, which is one frame every ten minutes; without a correction, a mix would soon consider all audio late.
///
/// While timestamps are correct to within a millisecond, the publisher's own buffer is passed on. After that, a new
/// buffer with corrected timestamps shares its memory. Not thread-safe; used by the streaming thread.
final class ClockFollower {
    private static let tolerance: Int64 = 1_000_000

    private let timing: StreamTiming
    private let clock: Clock
    private let base: ClockTime
    private let announced: Int64
    private var correction: Int64 = 0

    /// Makes a follower; `nil` if both graphs use the same clock. `announced` is the value of `timing.offset` when the
    /// segment was sent downstream.
    init?(_ timing: StreamTiming, clock: Clock, baseTime base: ClockTime, announced: Int64) {
        guard clock != timing.clock else { return nil }
        (self.timing, self.clock, self.base, self.announced) = (timing, clock, base, announced)
    }

    /// Returns the frame with timestamps in this graph's time.
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
