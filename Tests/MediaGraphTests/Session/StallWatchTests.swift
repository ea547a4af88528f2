import CGStreamer
import GStreamer
import TestSupport
import Testing

@testable import MediaGraphCore
@testable import MediaGraphSession

/// Tests when a stream that should be sending counts as stalled.
@Suite struct StallWatchTests {
    private static let second: Int64 = 1_000_000

    /// The watch's changes, in tenths of a second, if it is checked ten times a second.
    private static func stalls(
        _ pace: StallWatch.Pace, arrivals: [Int64], until end: Int64, expectedAt start: Int64? = 0
    ) -> [String] {
        var watch = StallWatch()
        watch.setPace(pace)
        var changes: [String] = []
        for time in 0...end {
            let now = time * second / 10
            if time == start { watch.expect(at: now) }
            if arrivals.contains(time) {
                if watch.recordArrival(at: now) { changes.append("\(time) resumed") }
            } else if watch.check(at: now) {
                changes.append("\(time) stalled")
            }
        }
        return changes
    }

    @Test("SE-4 a stream that is on stalls after 2 s, even if it has never sent anything")
    func limits() {
        #expect(Self.stalls(.continuous, arrivals: [], until: 50) == ["20 stalled"])
        #expect(Self.stalls(.frames(33_333), arrivals: [3, 4, 5], until: 50) == ["25 stalled"])
        #expect(Self.stalls(.continuous, arrivals: [0, 30], until: 60) == ["20 stalled", "30 resumed", "50 stalled"])
        #expect(Self.stalls(.continuous, arrivals: [], until: 50, expectedAt: nil).isEmpty)
    }

    @Test(
        "SE-4 a stream stalls after three frame durations, or three times its longest interval")
    func slowFrames() {
        #expect(Self.stalls(.frames(5 * Self.second), arrivals: [0, 50, 100], until: 300) == ["250 stalled"])
        #expect(Self.stalls(.variable, arrivals: [0, 50, 120, 150], until: 500) == ["360 stalled"])
        #expect(Self.stalls(.variable, arrivals: [0], until: 500).isEmpty)
    }

    @Test("SE-4 neither a stall nor the time before the stream was on counts as a frame interval")
    func intervals() {
        // The stall that ends at 100 doesn't delay the next one.
        #expect(
            Self.stalls(.variable, arrivals: [0, 10, 100], until: 200) == ["40 stalled", "100 resumed", "130 stalled"])
        #expect(Self.stalls(.variable, arrivals: [0, 5], until: 60, expectedAt: 30) == ["50 stalled"])
    }

    @Test("SE-4 frames that a reader can't get still count as arrivals, so the user isn't stalled")
    func withheld() throws {
        let time = VirtualClock()
        let start = time.now
        let reader = StreamReader(bound: 2, clock: TimerClock(time))
        func step(at seconds: Int64) -> String {
            time.advance(by: .seconds(seconds) - .nanoseconds(time.now - start))
            switch reader.next(timeoutNanoseconds: 1000) {
            case .stalled(let isStalled): return isStalled ? "stalled" : "resumed"
            case .idle: return "idle"
            case .signal: return "signal"
            default: return "other"
            }
        }
        let stream = RoomStream(StreamKey(user: "bob", kind: .camera), room: "room")
        stream.setExpected(true)
        reader.play()
        stream.add(reader)
        stream.begin()
        stream.setCaps(try #require(Caps("video/x-h264,framerate=30/1")))
        #expect([step(at: 0), step(at: 0)] == ["signal", "signal"])
        let delta = Buffer(size: 16)!
        delta.access.contentFlags |= GST_BUFFER_FLAG_DELTA_UNIT.rawValue
        for second in 1...4 as ClosedRange<Int64> {
            #expect(step(at: second) == "idle")
            // Without a key frame the frame can't be delivered.
            if second == 2 { stream.countLoss() } else { stream.send(delta.access) }
        }
        #expect([step(at: 5), step(at: 6), step(at: 7)] == ["idle", "stalled", "idle"])
        stream.send(delta.access)
        #expect([step(at: 8), step(at: 8)] == ["resumed", "idle"])
    }

    @Test("SE-4 neither a pause nor a stream that is off counts as a stall")
    func pauses() {
        var watch = StallWatch()
        watch.expect(at: 0)
        _ = watch.recordArrival(at: Self.second)
        watch.interrupt()
        #expect([60, 61, 62, 63].map { watch.check(at: $0 * Self.second) } == [false, false, true, false])
        watch.stop()
        let isStalledAgain = watch.check(at: 90 * Self.second)
        #expect(!watch.isStalled && !isStalledAgain)
    }
}
