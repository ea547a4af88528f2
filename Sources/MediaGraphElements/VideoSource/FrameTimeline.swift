import GStreamer
import MediaGraphCore

/// When sent frames are shown: the timestamps they were given, or ones made from their arrival; and whether they come faster
/// than was declared.
struct FrameTimeline: SendTimeline {
    private var even: EvenTimestamps?
    private var limit: RateLimit?
    private var format: SentFormat?

    @inline(__always)
    mutating func stamp(_ frame: QueuedFrame, _ time: SendTime, _ pace: Pace) -> Bool {
        // Given timestamps are left alone.
        if case .given(let timestamp) = time, frame.isUnlimited {
            frame.access.presentationTimestamp = timestamp
            return true
        }
        guard let timestamp = stamp(time, frame.format, pace) else { return false }
        frame.access.presentationTimestamp = timestamp
        return true
    }

    mutating func force(_ frame: QueuedFrame, _ time: SendTime) { frame.access.presentationTimestamp = time.clockTime }

    /// `nil` when it comes too soon.
    mutating func stamp(_ time: SendTime, _ format: SentFormat, _ pace: Pace) -> ClockTime? {
        if self.format !== format {
            // Another size at the same rate goes on where the last one was.
            if self.format?.nominalRate != format.nominalRate { even = format.nominalRate.map(EvenTimestamps.init) }
            limit = format.maximumRate.map(RateLimit.init)
            self.format = format
        }
        let measured: ClockTime
        switch (time, pace) {
        case (.given(let timestamp), _): measured = timestamp
        case (.arrived(let arrival), .live): measured = arrival
        // Frames that are made as fast as they are taken are counted, where their rate is known.
        case (.arrived(let arrival), .fast): return even?.next(from: arrival) ?? arrival
        }
        if let limit, !limit.allows(measured) { return nil }
        limit?.count(measured)
        if case .given(let timestamp) = time { return timestamp }
        return even?.stamp(arrival: measured) ?? measured
    }
}
