import GStreamer
import MediaGraphCore

/// Decides the timestamps of sent frames: the sender's timestamps, or timestamps made from the arrival times. Also
/// enforces the declared rate.
struct FrameTimeline: SendTimeline {
    private var even: EvenTimestamps?
    private var limit: RateLimit?
    private var format: SentFormat?

    @inline(__always)
    mutating func stamp(_ frame: QueuedFrame, _ time: SendTime, _ pace: Pace) -> Bool {
        // The common case: the sender gives timestamps and declared no rate.
        if case .given(let timestamp) = time, frame.isUnlimited {
            frame.access.presentationTimestamp = timestamp
            return true
        }
        guard let timestamp = stamp(time, frame.format, pace) else { return false }
        frame.access.presentationTimestamp = timestamp
        return true
    }

    mutating func stampBeyondRate(_ frame: QueuedFrame, _ time: SendTime) {
        frame.access.presentationTimestamp = time.clockTime
    }

    /// Returns the timestamp of a frame; `nil` if the frame exceeds the declared rate.
    mutating func stamp(_ time: SendTime, _ format: SentFormat, _ pace: Pace) -> ClockTime? {
        if self.format !== format {
            // A new size at the same rate continues the same grid.
            if self.format?.nominalRate != format.nominalRate { even = format.nominalRate.map(EvenTimestamps.init) }
            limit = format.maximumRate.map(RateLimit.init)
            self.format = format
        }
        let measured: ClockTime
        switch (time, pace) {
        case (.given(let timestamp), _): measured = timestamp
        case (.arrived(let arrival), .live): measured = arrival
        // Frames that are made as fast as downstream takes them are counted if their rate is known.
        case (.arrived(let arrival), .fast): return even?.next(from: arrival) ?? arrival
        }
        if let limit, !limit.allows(measured) { return nil }
        limit?.count(measured)
        if case .given(let timestamp) = time { return timestamp }
        return even?.stamp(arrival: measured) ?? measured
    }
}
