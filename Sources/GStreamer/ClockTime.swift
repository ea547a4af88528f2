import CGStreamer

/// Nanoseconds as GStreamer counts them; `nil` where GStreamer says `GST_CLOCK_TIME_NONE`.
public struct ClockTime: Sendable, Hashable, Comparable {
    public var nanoseconds: UInt64

    @inlinable
    public init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    /// From a raw `GstClockTime`; `nil` for `GST_CLOCK_TIME_NONE`.
    @inlinable
    package init?(raw: GstClockTime) {
        guard raw != GstClockTime.max else { return nil }
        nanoseconds = UInt64(raw)
    }

    public static let zero = ClockTime(nanoseconds: 0)
    public static func seconds(_ value: Double) -> ClockTime { ClockTime(nanoseconds: UInt64(value * 1e9)) }
    public static func milliseconds(_ value: UInt64) -> ClockTime { ClockTime(nanoseconds: value * 1_000_000) }

    /// When frame `index` of a constant rate begins. Exact: a product in 64 bits would overflow within minutes.
    public static func frame(_ index: Int, at rate: Fraction) -> ClockTime {
        ClockTime(
            nanoseconds: UInt64(
                gst_util_uint64_scale(
                    guint64(index), guint64(rate.denominator) * 1_000_000_000, guint64(rate.numerator))))
    }

    /// The number of the frame, of a constant rate, that begins nearest.
    public func frameIndex(at rate: Fraction) -> Int {
        Int(
            gst_util_uint64_scale_round(
                guint64(nanoseconds), guint64(rate.numerator), guint64(rate.denominator) * 1_000_000_000))
    }

    public var seconds: Double { Double(nanoseconds) / 1e9 }

    public static func < (a: ClockTime, b: ClockTime) -> Bool { a.nanoseconds < b.nanoseconds }
}

extension Optional where Wrapped == ClockTime {
    /// The raw `GstClockTime`, `GST_CLOCK_TIME_NONE` for `nil`.
    @inlinable
    package var raw: GstClockTime { self.map { GstClockTime($0.nanoseconds) } ?? .max }
}
