import CGStreamer
import Synchronization

/// A clock that pipelines can run by (`GstClock`).
public final class Clock: ObjectReference, @unchecked Sendable {
    // `@unchecked Sendable`: a GstClock is safe from any thread.
    package var clock: UnsafeMutablePointer<GstClock> { raw.assumingMemoryBound(to: GstClock.self) }

    /// The machine's monotonic clock: what pipelines run by that have no device's, and one and the same in all processes.
    public static let system = Clock(taking: gst_system_clock_obtain())

    /// The time on it now.
    public var time: ClockTime { ClockTime(nanoseconds: UInt64(gst_clock_get_time(clock))) }
}

extension Element {
    /// The clock that it runs by; `nil` before PLAYING.
    public var clock: Clock? { gst_element_get_clock(element).map { Clock(taking: $0) } }
}

extension Pipeline {
    /// Makes the pipeline run by this clock and no other, from its next change to PLAYING on.
    public func useClock(_ clock: Clock) { gst_pipeline_use_clock(pipeline, clock.clock) }
}

/// Lets threads wait for a time on an element's clock, and lets another thread send them all on their way.
///
/// A condition with a time-out would wait by the machine's clock, which the graph's need not follow.
public final class ClockAlarm: Sendable {
    /// The addresses of the `GstClockID`s that are waited for.
    private let waiting = Mutex<Set<UInt>>([])

    public init() {}

    /// Blocks until the clock of `element` shows this running time, or until `cancel`, or at once where there is no clock.
    /// `isCancelled` is asked once more when a `cancel` can no longer be missed.
    public func wait(for runningTime: ClockTime, of element: Element, unless isCancelled: () -> Bool) {
        guard let clock = gst_element_get_clock(element.element), let base = element.baseTime else { return }
        defer { gst_object_unref(clock) }
        // A clock takes what is further away for the past, and wouldn't wait.
        let (sum, isBeyond) = base.nanoseconds.addingReportingOverflow(runningTime.nanoseconds)
        let time = GstClockTime(isBeyond ? UInt64(Int64.max) : min(sum, UInt64(Int64.max)))
        guard let id = gst_clock_new_single_shot_id(clock, time) else { return }
        defer { gst_clock_id_unref(id) }
        let address = UInt(bitPattern: id)
        waiting.withLock { _ = $0.insert(address) }
        if !isCancelled() { gst_clock_id_wait(id, nil) }
        waiting.withLock { _ = $0.remove(address) }
    }

    /// All who wait now go on.
    public func cancel() {
        // Under the lock: none is freed meanwhile.
        waiting.withLock { waiting in
            for address in waiting { gst_clock_id_unschedule(GstClockID(bitPattern: address)!) }
        }
    }
}
