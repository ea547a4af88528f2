import CMediaGraphABI
import GStreamer

/// What senders of video and of sound have in common. Any thread; it outlives the graph, and then refuses.
///
/// `@unchecked Sendable`: the C structure is constant, and each of its functions is safe from any thread.
public class MediaSender: @unchecked Sendable {
    let control: MGSenderControl

    /// Adds a reference on what is behind `control`.
    init(_ control: MGSenderControl) {
        self.control = control
        _ = control.retain(control.context)
    }

    deinit { control.release(control.context) }

    /// The stream ends behind what was sent so far.
    public final func endOfStream() { control.end(control.context) }

    /// The source can't go on: the graph ends with this error.
    public final func fail(_ error: MediaGraphError) {
        var stored = MGError()
        error.store(in: &stored)
        control.fail(control.context, &stored)
    }

    /// Waits for a running time, on the graph's clock; not at all when the pace is `fast`. False when sending has been
    /// stopped meanwhile, and at that time when downstream has ended the stream.
    @available(*, noasync, message: "blocks; wait on a thread of your own")
    public final func wait(until time: ClockTime) -> Bool { control.wait(control.context, time.nanoseconds) != 0 }

    /// Running time now; `nil` without a clock.
    public final var runningTime: ClockTime? { ClockTime(raw: GstClockTime(control.running_time(control.context))) }

    /// `live` or `fast`, as the node is set.
    public final var pace: Pace { control.pace(control.context) == Pace.fast.rawValue ? .fast : .live }

    /// Whether anything is accepted now.
    final var isSending: Bool { control.wait(control.context, 0) != 0 }
    final var stopTimeout: ClockTime { ClockTime(nanoseconds: control.stop_timeout(control.context)) }
    package final func warn(_ text: String) { control.warn(control.context, text) }
}
