import CGStreamer
import CGStreamerCheck
import GStreamer
import MediaGraph

/// A virtual clock that stands still until the test moves it (`GstTestClock`). It makes live graphs deterministic, and
/// tests of long streams fast.
///
/// ```swift
/// let graph = try Graph("videosource handler=counter ! rawdatapipe name=frames")
/// let clock = TestClock()
/// graph.useClock(clock.clock)
/// try await graph.start()
/// for _ in 0..<30 { try await clock.step() }      // one second, frame by frame
/// ```
public final class TestClock: Sendable {
    /// The clock to pass to `Graph.useClock` before the graph starts.
    public let clock: Clock

    /// Creates a clock that shows `time`.
    public convenience init(time: ClockTime = .zero) {
        GStreamerRuntime.initialize()
        self.init(Clock(taking: gst_test_clock_new_with_start_time(GstClockTime(time.nanoseconds))))
    }

    /// Wraps a clock that is a `GstTestClock`.
    init(_ clock: Clock) {
        self.clock = clock
        // GstTestClock doesn't wake threads that wait for a time in the past, and every pipe has such a thread. The
        // thread below wakes them.
        let releaser = NativeThread("test-clock") { [clock, weak self] in
            while self != nil {
                // Releases the ID that GStreamer chooses, rather than those of a list. A thread on the list may have
                // stopped waiting in the meantime, as a mixer does when data arrives, at which GStreamer 1.22 aborts.
                while let id = gst_test_clock_process_next_clock_id(clock.testClock) { gst_clock_id_unref(id) }
                sleepBriefly()
            }
        }
        releaser.detach()
    }

    /// The current time of the clock.
    public var time: ClockTime { clock.time }

    /// Whether threads wait for times in the future, and none for a time in the past.
    var isWaitedFor: Bool {
        var id: GstClockID?
        guard gst_test_clock_peek_next_pending_id(clock.testClock, &id) != 0, let id else { return false }
        defer { gst_clock_id_unref(id) }
        return UInt64(gst_clock_id_get_time(id)) > time.nanoseconds
    }

    /// Moves the clock forward to a time. Releases all threads that wait for that or an earlier time.
    public func advance(to time: ClockTime) {
        gst_test_clock_set_time(clock.testClock, GstClockTime(time.nanoseconds))
    }

    /// Moves the clock forward by a duration, which mustn't be negative. Releases all threads that wait for the new
    /// time or an earlier one.
    public func advance(by duration: Duration) {
        advance(to: time + duration)
    }

    /// Waits until at least `count` threads wait for times in the future, for example sources for their next frames.
    /// Then moves the clock to the earliest of these times and returns it.
    ///
    /// Throws `timeOut` if fewer threads wait after `timeout` of real time.
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
                    .init(
                        "test clock", expected: "\(count) threads waiting within \(timeout)", actual: "\(times.count)"))
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}

/// A wait of a thread for the clock.
private struct Waiting {
    private let id: GstClockID

    var time: ClockTime { ClockTime(nanoseconds: UInt64(gst_clock_id_get_time(id))) }

    /// Calls `body` with every current wait.
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
