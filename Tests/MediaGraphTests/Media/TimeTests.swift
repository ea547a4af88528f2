import Foundation
import GStreamer
import Testing

/// Tests the arithmetic of times and durations, and the conversions between the units of time.
@Suite struct TimeTests {
    private static let last = ClockTime(nanoseconds: .max - 1)

    @Test("the difference of two times is a duration, and a duration moves a time")
    func arithmetic() {
        let (start, end) = (ClockTime.milliseconds(40), ClockTime.milliseconds(100))
        #expect(end - start == .milliseconds(60) && start - end == .milliseconds(-60))
        #expect(start + .milliseconds(60) == end && end - .milliseconds(60) == start)
        #expect(start + .milliseconds(-30) == .milliseconds(10) && start - .milliseconds(-60) == end)
        #expect(start.duration(to: end) == end - start && start.advanced(by: end - start) == end)
        var time = start
        time += .milliseconds(10)
        time -= .milliseconds(20)
        #expect(time == .milliseconds(30))
        // The longest difference exceeds 64 bits with a sign.
        #expect(Self.last - .zero == .nanoseconds(UInt64.max - 1) && .zero - Self.last < .seconds(-18_446_744_073))
    }

    @Test("no time is below zero or beyond the last one, however long the duration")
    func limits() {
        #expect(ClockTime.milliseconds(40) - .milliseconds(41) == .zero)
        #expect(ClockTime.zero + .nanoseconds(-1) == .zero)
        #expect(ClockTime.seconds(5) - .seconds(Int64.max) == .zero)
        #expect(Self.last + .nanoseconds(1) == Self.last && ClockTime.zero + .seconds(Int64.max) == Self.last)
        // The number after the last time means that there is none.
        #expect(ClockTime.zero + .nanoseconds(UInt64.max) == Self.last)
    }

    @Test(
        "a duration is cut to whole nanoseconds, and to what GStreamer can count",
        arguments: [
            (Duration.zero, 0), (.nanoseconds(1), 1), (.milliseconds(1500), 1_500_000_000),
            (.nanoseconds(UInt64.max - 1), .max - 1), (.nanoseconds(UInt64.max), .max - 1),
            (.seconds(Int64.max), .max - 1), (.nanoseconds(-1), 0), (.seconds(-3), 0),
            (Duration(secondsComponent: 1, attosecondsComponent: 1_999_999_999), 1_000_000_001),
        ] as [(Duration, UInt64)])
    func nanoseconds(_ duration: Duration, _ expected: UInt64) { #expect(duration.nanoseconds == expected) }

    @Test("a buffer's unknown duration is nil in every unit, and a known one is kept exactly")
    func unknownDuration() {
        let buffer = Buffer(size: 1)!
        #expect(buffer.access.duration == nil && buffer.access.durationNanoseconds == nil)
        buffer.access.duration = .microseconds(33_333)
        #expect(buffer.access.durationNanoseconds == 33_333_000)
        buffer.access.durationNanoseconds = 40_000_001
        #expect(buffer.access.duration == .nanoseconds(40_000_001))
        buffer.access.duration = nil
        #expect(buffer.access.durationNanoseconds == nil)
    }

    @Test("the duration of frames at a rate is cut to whole nanoseconds")
    func frames() {
        #expect(Duration.frames(1, at: Fraction(30, 1)) == .nanoseconds(33_333_333))
        #expect(Duration.frames(30_000, at: Fraction(30_000, 1001)) == .seconds(1001))
    }

    @Test("RP-3 a capture time is a date that keeps the buffer's wall-clock time to 0.1 µs")
    func captureTime() throws {
        let buffer = Buffer(size: 1)!
        #expect(buffer.access.captureTime == nil)
        let nanoseconds: UInt64 = 1_700_000_000_123_456_789
        buffer.access.setCaptureTime(unixNanoseconds: nanoseconds)
        let date = try #require(buffer.access.captureTime)
        #expect(abs(date.timeIntervalSince1970 - 1_700_000_000.123456789) < 1e-6)
        #expect(date.unixNanoseconds.distance(to: nanoseconds).magnitude <= 100)
        // A date doesn't change on its way through a buffer.
        let copy = Buffer(size: 1)!
        copy.access.setCaptureTime(date)
        #expect(copy.access.captureTime == date)
        copy.access.setCaptureTime(unixNanoseconds: 5)
        #expect(copy.access.captureUnixNanoseconds == 5)
    }

    @Test("RP-3 dates that a buffer can't hold are cut to the first or the last that it can")
    func limitsOfDates() {
        #expect(Date(timeIntervalSince1970: 0).unixNanoseconds == 0)
        #expect(Date(timeIntervalSince1970: 1.5).unixNanoseconds == 1_500_000_000)
        #expect(Date.distantPast.unixNanoseconds == 0 && Date.distantFuture.unixNanoseconds == .max)
        #expect(Date(timeIntervalSince1970: .nan).unixNanoseconds == 0)
        #expect(Date(timeIntervalSince1970: .infinity).unixNanoseconds == .max)
        #expect(Date(unixNanoseconds: .max).timeIntervalSince1970.rounded() == 18_446_744_074)
    }
}
