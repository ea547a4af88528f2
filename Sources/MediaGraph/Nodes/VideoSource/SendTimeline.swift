import GStreamer

/// When sent frames are shown: the timestamps they were given, or ones made from their arrival; and whether they come faster
/// than was declared. Begins anew with each `startSend`. Pure.
struct SendTimeline: Sendable {
    /// A frame's own timestamp, or when it came.
    enum Time: Sendable {
        case given(ClockTime)
        case arrived(ClockTime)

        var clockTime: ClockTime {
            switch self {
            case .given(let time), .arrived(let time): time
            }
        }

        @inline(__always)
        init(_ raw: UInt64, arrival: () -> ClockTime?) {
            if raw != .max { self = .given(ClockTime(nanoseconds: raw)) } else { self = .arrived(arrival() ?? .zero) }
        }
    }

    private var even: EvenTimestamps?
    private var limit: RateLimit?
    private var format: SentFormat?

    /// The frame's timestamp; `nil` when it comes too soon. To be called in the order of the frames, once for each that
    /// gets in.
    mutating func stamp(_ time: Time, _ format: SentFormat, _ pace: Pace) -> ClockTime? {
        // Given timestamps are left alone.
        if format.maximumRate == nil, case .given(let timestamp) = time { return timestamp }
        return stampSlowly(time, format, pace)
    }

    private mutating func stampSlowly(_ time: Time, _ format: SentFormat, _ pace: Pace) -> ClockTime? {
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
