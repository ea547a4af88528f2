import CGStreamer
import CGStreamerCheck
import GStreamer
import MediaGraph

/// A virtual clock, which stands still until the test moves it (`GstTestClock`): live graphs become deterministic, and a
/// minute of video takes no time.
///
/// ```swift
/// let graph = try Graph("videosource handler=counter ! rawdatapipe name=frames")
/// let clock = TestClock()
/// graph.useClock(clock.clock)
/// try await graph.start()
/// for _ in 0..<30 { try await clock.step() }      // one second, frame by frame
/// ```
public final class TestClock: Sendable {
    /// For `Graph.useClock`, before the graph starts.
    public let clock: Clock

    /// `time` is what it shows at first.
    public convenience init(time: ClockTime = .zero) {
        GStreamerRuntime.initialize()
        self.init(Clock(taking: gst_test_clock_new_with_start_time(GstClockTime(time.nanoseconds))))
    }

    /// One that is a `GstTestClock`.
    init(_ clock: Clock) {
        self.clock = clock
        // GstTestClock lets nobody go who waits for a time that is past already, as each pipe does: that is done here.
        let doorman = NativeThread("test-clock") { [clock, weak self] in
            while self != nil {
                // By GStreamer's own choice, not by a list: who is on it may have given up waiting since, as a mixer does when
                // data comes, and 1.22 aborts at that.
                while let id = gst_test_clock_process_next_clock_id(clock.testClock) { gst_clock_id_unref(id) }
                sleepBriefly()
            }
        }
        doorman.detach()
    }

    /// The time on it now.
    public var time: ClockTime { clock.time }

    /// Moves it to a time that isn't past. Everybody who waits for that or an earlier one goes on.
    public func advance(to time: ClockTime) {
        gst_test_clock_set_time(clock.testClock, GstClockTime(time.nanoseconds))
    }

    /// Moves it on. Everybody whose time has come then goes on.
    public func advance(by duration: ClockTime) {
        advance(to: ClockTime(nanoseconds: time.nanoseconds + duration.nanoseconds))
    }

    /// Waits until at least so many threads wait for a time to come, and moves the clock to the first of these times: a
    /// source's for its next frame, say. Gives the time.
    ///
    /// Throws `timeOut` when fewer come to wait within `timeout` of real time.
    @discardableResult
    public func step(waiting count: Int = 1, timeout: Duration = .seconds(30)) async throws -> ClockTime {
        let deadline = ContinuousClock.now + timeout
        while true {
            var times: [ClockTime] = []
            Waiting.forEach(on: clock) { if $0.time > time { times.append($0.time) } }
            if times.count >= count, let first = times.min() {
                advance(to: first)
                return first
            }
            guard ContinuousClock.now < deadline else {
                throw MediaGraphError.timeOut(
                    .init("test clock", expected: "\(count) waiting within \(timeout)", actual: "\(times.count)"))
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}

/// One who waits for the clock.
private struct Waiting {
    private let id: GstClockID

    var time: ClockTime { ClockTime(nanoseconds: UInt64(gst_clock_id_get_time(id))) }

    /// As a list, which may have somebody in it who has given up waiting by now.
    func letGo(on clock: Clock) {
        var list = GList(data: id, next: nil, prev: nil)
        gst_test_clock_process_id_list(clock.testClock, &list)
    }

    /// Shows `body` all who wait now.
    static func forEach(on clock: Clock, _ body: (Waiting) -> Void) {
        var list: UnsafeMutablePointer<GList>?
        gst_test_clock_wait_for_multiple_pending_ids(clock.testClock, 0, &list)
        defer { g_list_free_full(list) { gst_clock_id_unref($0) } }
        var node = list
        while let current = node {
            body(Waiting(id: current.pointee.data))
            node = current.pointee.next
        }
    }
}

extension Clock {
    fileprivate var testClock: UnsafeMutablePointer<GstTestClock> {
        UnsafeMutableRawPointer(clock).assumingMemoryBound(to: GstTestClock.self)
    }
}
