import CGStreamer
import Foundation

// The units of time, and their conversions. A point in a stream or of a clock is a `ClockTime`, a length of time is
// Swift's `Duration`, and a time of day is a `Date`. Code that runs for each buffer keeps GStreamer's raw nanoseconds,
// in variables and functions whose names end in `Nanoseconds`, because `Duration` counts attoseconds in 128 bits.

/// A point in a stream or of a clock, in nanoseconds (`GstClockTime`): a timestamp, a running time, a stream time, or
/// what a ``Clock`` shows. Where GStreamer has `GST_CLOCK_TIME_NONE`, Swift has `nil`.
///
/// A length of time is a `Duration`: the difference of two times is a duration, and adding a duration to a time gives
/// another time.
public struct ClockTime: Sendable, Hashable, Comparable, InstantProtocol {
    /// The type of the difference of two times.
    public typealias Duration = Swift.Duration

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

    /// Whether `a` is earlier than `b`.
    public static func < (a: ClockTime, b: ClockTime) -> Bool { a.nanoseconds < b.nanoseconds }

    /// Returns this time plus `duration`, truncated to whole nanoseconds. `duration` may be negative.
    ///
    /// No time is before zero: a result below zero is ``zero``. A result beyond the last `GstClockTime`, after 584
    /// years, is that last one.
    public func advanced(by duration: Duration) -> ClockTime {
        guard duration < .zero else {
            let (sum, isBeyond) = nanoseconds.addingReportingOverflow(duration.nanoseconds)
            return ClockTime(nanoseconds: isBeyond ? .max - 1 : min(sum, .max - 1))
        }
        return ClockTime(nanoseconds: nanoseconds - min(nanoseconds, (.zero - duration).nanoseconds))
    }

    /// Returns the duration from this time to `other`, which is negative if `other` is earlier.
    public func duration(to other: ClockTime) -> Duration {
        .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
    }

    /// Returns the time that is later by `duration`, as ``advanced(by:)`` does.
    public static func + (time: ClockTime, duration: Duration) -> ClockTime { time.advanced(by: duration) }

    /// Returns the time that is earlier by `duration`, as ``advanced(by:)`` does with the negative duration: a result
    /// below zero is ``zero``.
    public static func - (time: ClockTime, duration: Duration) -> ClockTime { time.advanced(by: .zero - duration) }

    /// Returns the duration from `start` to `end`, which is negative if `end` is earlier.
    public static func - (end: ClockTime, start: ClockTime) -> Duration { start.duration(to: end) }

    /// Moves a time by `duration`, as ``advanced(by:)`` does.
    public static func += (time: inout ClockTime, duration: Duration) { time = time + duration }

    /// Moves a time back by `duration`, as `-` does.
    public static func -= (time: inout ClockTime, duration: Duration) { time = time - duration }
}

extension Optional where Wrapped == ClockTime {
    /// The raw `GstClockTime`, `GST_CLOCK_TIME_NONE` for `nil`.
    @inlinable
    package var raw: GstClockTime { self.map { GstClockTime($0.nanoseconds) } ?? .max }
}

extension Duration {
    /// Creates a duration from a raw `GstClockTime`; `nil` for `GST_CLOCK_TIME_NONE`.
    package init?(raw: GstClockTime) {
        guard raw != GstClockTime.max else { return nil }
        self = .nanoseconds(UInt64(raw))
    }

    /// The duration in whole nanoseconds, as GStreamer counts it: 0 if it is negative, and the largest `GstClockTime`
    /// if it is longer than that.
    package var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (whole, isBeyond) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isSumBeyond) = whole.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000))
        return isBeyond || isSumBeyond ? .max - 1 : min(sum, .max - 1)
    }

    /// The duration in seconds.
    package var seconds: Double { self / .seconds(1) }

    /// Returns the duration of `count` frames of a stream with a constant rate, cut to whole nanoseconds.
    package static func frames(_ count: Int, at rate: Fraction) -> Duration {
        .nanoseconds(ClockTime.frame(count, at: rate).nanoseconds)
    }
}

extension Optional where Wrapped == Duration {
    /// The raw `GstClockTime`, `GST_CLOCK_TIME_NONE` for `nil`.
    package var raw: GstClockTime { self.map { GstClockTime($0.nanoseconds) } ?? .max }
}

extension Date {
    /// The seconds between the beginning of Unix time, 1970, and that of `Date`, 2001.
    private static let epochDistance = Int64(Date.timeIntervalBetween1970AndReferenceDate)

    /// Creates a date from the nanoseconds since 1970 (UTC). A `Date` is a floating-point number; today it is accurate
    /// to 0.1 µs.
    package init(unixNanoseconds: UInt64) {
        let (seconds, rest) = unixNanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        // Not by way of `timeIntervalSince1970`, whose numbers are larger and so less accurate.
        self.init(timeIntervalSinceReferenceDate: Double(Int64(seconds) - Self.epochDistance) + Double(rest) / 1e9)
    }

    /// The nanoseconds since 1970 (UTC), rounded; 0 for an earlier date, and the largest number for one after 2554.
    package var unixNanoseconds: UInt64 {
        let seconds = timeIntervalSinceReferenceDate.rounded(.down)
        guard seconds >= Double(-Self.epochDistance) else { return 0 }
        // The last whole second of which all nanoseconds fit in 64 bits.
        let last = UInt64.max / 1_000_000_000 - 1
        guard seconds <= Double(Int64(last) - Self.epochDistance) else { return .max }
        let rest = UInt64(((timeIntervalSinceReferenceDate - seconds) * 1e9).rounded())
        return UInt64(Int64(seconds) + Self.epochDistance) * 1_000_000_000 + rest
    }
}
