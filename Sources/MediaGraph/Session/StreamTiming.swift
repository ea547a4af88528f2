import GStreamer

/// What a publisher's timestamps mean outside its own graph: its segment, and the clock and base time that its running time
/// counts from.
struct StreamTiming: Sendable {
    var segment: Segment
    var clock: Clock
    var baseTime: ClockTime
    /// How much later than its timestamps a buffer may reach the session.
    var latency: ClockTime

    /// The segment in which the same timestamps mean the same moment in another graph.
    ///
    /// Exact where both run by one clock, as all do that have no device's clock; else as near as both can be read at once.
    func segment(in clock: Clock, baseTime base: ClockTime) -> Segment {
        let difference: Int64
        if clock == self.clock {
            difference = Int64(baseTime.nanoseconds) - Int64(base.nanoseconds)
        } else {
            let here = Int64(clock.time.nanoseconds) - Int64(base.nanoseconds)
            let there = Int64(self.clock.time.nanoseconds) - Int64(baseTime.nanoseconds)
            difference = here - there
        }
        return segment.shifted(by: difference)
    }
}

extension StreamTiming {
    /// On the machine's monotonic clock.
    func moment(of timestamp: ClockTime) -> ClockTime? {
        let machine = Clock.system
        // Running time as it would be where time counts from the clock's own beginning.
        return segment(in: machine, baseTime: .zero).runningTime(of: timestamp)
    }

    /// Timestamps that are times on the machine's monotonic clock.
    static func machine(latency: ClockTime) -> StreamTiming {
        StreamTiming(segment: Segment(), clock: .system, baseTime: .zero, latency: latency)
    }
}
