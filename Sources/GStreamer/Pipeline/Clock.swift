import CGStreamer
import Synchronization

/// A clock by which pipelines can run (`GstClock`).
public final class Clock: ObjectReference, @unchecked Sendable {
    // `@unchecked Sendable`: a `GstClock` can be used from any thread.
    package var clock: UnsafeMutablePointer<GstClock> { raw.assumingMemoryBound(to: GstClock.self) }

    /// The machine's monotonic clock. Pipelines use it unless one of their elements provides a clock. It shows the same
    /// time in all processes.
    public static let system = Clock(taking: gst_system_clock_obtain())

    /// The current time of the clock.
    public var time: ClockTime { ClockTime(nanoseconds: UInt64(gst_clock_get_time(clock))) }
}

extension Element {
    /// The clock by which the element runs; `nil` before PLAYING.
    public var clock: Clock? { gst_element_get_clock(element).map { Clock(taking: $0) } }
}

extension Pipeline {
    /// Makes the pipeline always use this clock, from its next change to PLAYING on.
    public func useClock(_ clock: Clock) { gst_pipeline_use_clock(pipeline, clock.clock) }
}

/// Lets threads wait for a time on an element's clock, until another thread cancels the wait.
///
/// A condition variable with a time-out would wait by the machine's clock, which can differ from the graph's.
public final class ClockAlarm: Sendable {
    /// The addresses of the `GstClockID`s for which threads wait.
    private let waiting = Mutex<Set<UInt>>([])

    /// Creates an alarm for which no thread waits.
    public init() {}

    /// Blocks until the clock of `element` reaches a running time, or until ``cancel()``. Returns at once if the
    /// element has no clock or no base time.
    ///
    /// - Parameters:
    ///   - runningTime: the running time for which to wait.
    ///   - element: the element whose clock and base time count.
    ///   - isCancelled: called once before the thread waits. If it returns true, the thread doesn't wait. A
    ///     ``cancel()`` that comes later ends the wait, so none is missed.
    public func wait(for runningTime: ClockTime, of element: Element, unless isCancelled: () -> Bool) {
        guard let clock = gst_element_get_clock(element.element), let base = element.baseTime else { return }
        defer { gst_object_unref(clock) }
        // A clock takes a time beyond `Int64.max` for the past, and wouldn't wait.
        let (sum, isBeyond) = base.nanoseconds.addingReportingOverflow(runningTime.nanoseconds)
        let time = GstClockTime(isBeyond ? UInt64(Int64.max) : min(sum, UInt64(Int64.max)))
        guard let id = gst_clock_new_single_shot_id(clock, time) else { return }
        defer { gst_clock_id_unref(id) }
        let address = UInt(bitPattern: id)
        waiting.withLock { _ = $0.insert(address) }
        if !isCancelled() { gst_clock_id_wait(id, nil) }
        waiting.withLock { _ = $0.remove(address) }
    }

    /// Ends the wait of all threads that wait now.
    public func cancel() {
        // Holding the lock keeps the waiting threads from freeing their IDs.
        waiting.withLock { waiting in
            for address in waiting { gst_clock_id_unschedule(GstClockID(bitPattern: address)!) }
        }
    }
}
