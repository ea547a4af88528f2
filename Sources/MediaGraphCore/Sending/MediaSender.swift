import CMediaGraphABI
import GStreamer

/// The common base of ``VideoSender`` and ``AudioSender``. Its methods may be called on any thread, and after the graph
/// is gone.
///
/// `@unchecked Sendable`: the C structure is constant, and its functions may be called on any thread.
public class MediaSender: @unchecked Sendable {
    let control: MGSenderControl

    /// Adds a reference to the object behind `control`.
    init(_ control: MGSenderControl) {
        self.control = control
        _ = control.retain(control.context)
    }

    deinit { control.release(control.context) }

    /// Ends the stream, after everything sent so far has been delivered.
    public final func endOfStream() { control.end(control.context) }

    /// Reports that the source can't continue: the graph ends with this error, after everything sent so far has been
    /// delivered.
    public final func fail(_ error: MediaGraphError) {
        var stored = MGError()
        error.store(in: &stored)
        control.fail(control.context, &stored)
    }

    /// Blocks until the graph's clock reaches a running time. Returns at once if the pace is `fast`.
    ///
    /// Returns false if sending was stopped meanwhile. If downstream has ended the stream, it returns false too, but
    /// only at that time.
    @available(*, noasync, message: "blocks; wait on a thread of your own")
    public final func wait(until time: ClockTime) -> Bool { control.wait(control.context, time.nanoseconds) != 0 }

    /// The current running time; `nil` if the graph has no clock.
    public final var runningTime: ClockTime? { ClockTime(raw: GstClockTime(control.running_time(control.context))) }

    /// The node's `pace`.
    public final var pace: Pace { control.pace(control.context) == Pace.fast.rawValue ? .fast : .live }

    /// Whether the node accepts media now.
    final var isSending: Bool { control.wait(control.context, 0) != 0 }
    final var stopTimeout: Duration { .nanoseconds(control.stop_timeout(control.context)) }
    package final func warn(_ text: String) { control.warn(control.context, text) }
}
