import GStreamer
import Testing

@Suite struct StreamTimingTests {
    @Test(
        "SE-1 a shifted segment keeps its moments, and times before its beginning are outside",
        arguments: [0, 5_000_000_000, -5_000_000_000, -15_000_000_000] as [Int64])
    func shifted(by nanoseconds: Int64) {
        let segment = Segment().shifted(byNanoseconds: 10_000_000_000)
        let moved = segment.shifted(byNanoseconds: nanoseconds)
        for seconds in [0.0, 3.0, 20.0] {
            let running = 10e9 + seconds * 1e9 + Double(nanoseconds)
            let expected = running < 0 ? nil : ClockTime(nanoseconds: UInt64(running))
            #expect(moved.runningTime(of: .seconds(seconds)) == expected)
            if let expected { #expect(moved.timestamp(at: expected) == .seconds(seconds)) }
            // Elements agree: a buffer without a running time is outside of the segment.
            guard let buffer = Buffer(filledWith: 0, count: 1) else {
                Issue.record("out of memory")
                return
            }
            buffer.access.presentationTimestamp = .seconds(seconds)
            #expect(moved.contains(buffer.access) == (expected != nil))
        }
        #expect(segment != Segment() && segment == Segment().shifted(byNanoseconds: 10_000_000_000))
    }
}
