import GStreamer

/// The meaning of a publisher's timestamps outside its own graph: its segment, and the clock and base time that its
/// running time refers to.
package struct StreamTiming: Sendable {
    var segment: Segment
    var clock: Clock
    var baseTime: ClockTime
    /// How much later than its timestamps a buffer may reach the session.
    package var latency: Duration

    /// Returns a segment in which the same timestamps mean the same moments in another graph, while `offset` doesn't
    /// change.
    package func segment(in clock: Clock, baseTime base: ClockTime) -> Segment {
        segment.shifted(byNanoseconds: offset(to: clock, baseTime: base))
    }

    /// The timestamp of a buffer that is captured now; `nil` if the segment has none.
    var now: ClockTime? {
        let (time, base) = (clock.time.nanoseconds, baseTime.nanoseconds)
        return time < base ? nil : segment.timestamp(at: ClockTime(nanoseconds: time - base))
    }

    /// Returns how many nanoseconds the running time of another graph is ahead of the publisher's.
    ///
    /// Exact and constant if both graphs use the same clock, as all graphs without a device's clock do. Otherwise as
    /// accurate as two clocks can be read one after the other, and only valid for the moment, because the clocks drift.
    func offset(to clock: Clock, baseTime base: ClockTime) -> Int64 {
        if clock == self.clock { return Int64(baseTime.nanoseconds) - Int64(base.nanoseconds) }
        let here = Int64(clock.time.nanoseconds) - Int64(base.nanoseconds)
        let there = Int64(self.clock.time.nanoseconds) - Int64(baseTime.nanoseconds)
        return here - there
    }
}

extension StreamTiming {
    /// The timing of timestamps that are times of the machine's monotonic clock.
    package static func machine(latency: Duration) -> StreamTiming {
        StreamTiming(segment: Segment(), clock: .system, baseTime: .zero, latency: latency)
    }
}
