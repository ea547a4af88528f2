import GStreamer

/// What a publisher's timestamps mean outside its own graph: its segment, and the clock and base time that its running time
/// counts from.
package struct StreamTiming: Sendable {
    var segment: Segment
    var clock: Clock
    var baseTime: ClockTime
    /// How much later than its timestamps a buffer may reach the session.
    package var latency: ClockTime

    /// The segment in which the same timestamps mean the same moment in another graph; for as long as `offset` stays as it is.
    package func segment(in clock: Clock, baseTime base: ClockTime) -> Segment {
        segment.shifted(by: offset(to: clock, baseTime: base))
    }

    /// By how many nanoseconds running time in another graph is more than the publisher's.
    ///
    /// Exact and for good where both run by one clock, as all do that have no device's clock; else as near as both can be read
    /// at once, and for the moment: clocks run apart.
    func offset(to clock: Clock, baseTime base: ClockTime) -> Int64 {
        if clock == self.clock { return Int64(baseTime.nanoseconds) - Int64(base.nanoseconds) }
        let here = Int64(clock.time.nanoseconds) - Int64(base.nanoseconds)
        let there = Int64(self.clock.time.nanoseconds) - Int64(baseTime.nanoseconds)
        return here - there
    }
}

extension StreamTiming {
    /// Timestamps that are times on the machine's monotonic clock.
    package static func machine(latency: ClockTime) -> StreamTiming {
        StreamTiming(segment: Segment(), clock: .system, baseTime: .zero, latency: latency)
    }
}
