import CGStreamer

/// A time or a duration in nanoseconds (`GstClockTime`). Where GStreamer has `GST_CLOCK_TIME_NONE`, Swift has `nil`.
public struct ClockTime: Sendable, Hashable, Comparable {
    /// The time in nanoseconds.
    public var nanoseconds: UInt64

    /// Creates a time from nanoseconds.
    @inlinable
    public init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    /// Creates a time from a raw `GstClockTime`; `nil` for `GST_CLOCK_TIME_NONE`.
    @inlinable
    package init?(raw: GstClockTime) {
        guard raw != GstClockTime.max else { return nil }
        nanoseconds = UInt64(raw)
    }

    /// Zero nanoseconds.
    public static let zero = ClockTime(nanoseconds: 0)

    /// Returns a time in seconds, cut to whole nanoseconds. Traps if `value` is negative, not finite or beyond 64 bits.
    public static func seconds(_ value: Double) -> ClockTime { ClockTime(nanoseconds: UInt64(value * 1e9)) }

    /// Returns a time in milliseconds. Traps if the nanoseconds exceed 64 bits.
    public static func milliseconds(_ value: UInt64) -> ClockTime { ClockTime(nanoseconds: value * 1_000_000) }

    /// Returns the time at which frame `index` of a stream with a constant rate begins.
    ///
    /// GStreamer's scaling computes the product in 128 bits; in 64 bits it would overflow within minutes.
    public static func frame(_ index: Int, at rate: Fraction) -> ClockTime {
        ClockTime(
            nanoseconds: UInt64(
                gst_util_uint64_scale(
                    guint64(index), guint64(rate.denominator) * 1_000_000_000, guint64(rate.numerator))))
    }

    /// Returns the number of the frame that begins nearest to this time, in a stream with a constant rate.
    public func frameIndex(at rate: Fraction) -> Int {
        Int(
            gst_util_uint64_scale_round(
                guint64(nanoseconds), guint64(rate.numerator), guint64(rate.denominator) * 1_000_000_000))
    }

    /// The time in seconds.
    public var seconds: Double { Double(nanoseconds) / 1e9 }

    /// Whether `a` is earlier, or shorter, than `b`.
    public static func < (a: ClockTime, b: ClockTime) -> Bool { a.nanoseconds < b.nanoseconds }
}

extension Optional where Wrapped == ClockTime {
    /// The raw `GstClockTime`, `GST_CLOCK_TIME_NONE` for `nil`.
    @inlinable
    package var raw: GstClockTime { self.map { GstClockTime($0.nanoseconds) } ?? .max }
}
