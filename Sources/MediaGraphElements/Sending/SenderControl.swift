import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// The part of a gate that doesn't depend on the payload's type: everything that a sender asks of its node besides
/// sending.
///
/// `@unchecked Sendable`: all properties are `Sendable` constants; each subclass documents what guards its state.
class SenderControl: @unchecked Sendable {
    let statistics = NodeStatistics()
    /// Where threads wait for the clock.
    let alarm = ClockAlarm()
    let owner: WeakElement
    /// Whether frames may come before PLAYING, when the element's clock and base time don't match yet.
    private let startsEarly: Bool

    init(owner: WeakElement, startsEarly: Bool) {
        self.owner = owner
        self.startsEarly = startsEarly
    }

    /// The element's running time; `nil` without a clock.
    var runningTime: ClockTime? {
        guard let element = owner.element, !startsEarly || element.isPlaying else { return nil }
        return element.currentRunningTime
    }

    /// Posts a warning on the bus.
    func warn(_ text: String) { owner.postWarning(.processing, "\(owner.name): \(text)") }

    /// Waits for a running time; at once if the pace isn't live. Returns false if sending has stopped.
    final func wait(until time: ClockTime) -> Bool {
        while true {
            guard isOpen else { return false }
            guard pace == .live, let element = owner.element, let now = element.currentRunningTime, now < time else {
                return true
            }
            alarm.wait(for: time, of: element) { !isOpen }
        }
    }

    // MARK: Overridden by subclasses

    var isOpen: Bool { false }
    var pace: Pace { .live }
    var stopTimeout: Duration { .zero }
    /// The total weight of the queued payloads: frames of video, nanoseconds of sound.
    var level: Int { 0 }
    /// Ends the stream after the queued payloads. Does nothing unless the source is sending.
    func endOfStream() {}
    /// Ends the stream with an error after the queued payloads.
    func fail(_ error: MediaGraphError) {}
    /// Cancels a send that still waits for room.
    func cancel(_ ticket: UInt64) {}
}

extension MGSenderControl {
    /// Makes the C functions of a node's gate. The receiver must `retain` them to keep them beyond the call.
    init(_ gate: SenderControl) {
        self.init()
        context = Unmanaged.passUnretained(gate).toOpaque()
        end = { SenderControl.of($0).endOfStream() }
        fail = { SenderControl.of($0).fail(MediaGraphError(taking: $1!.pointee)) }
        wait = { SenderControl.of($0).wait(until: ClockTime(nanoseconds: $1)) ? 1 : 0 }
        running_time = { UInt64(SenderControl.of($0).runningTime.raw) }
        pace = { SenderControl.of($0).pace.rawValue }
        level = { Int64(SenderControl.of($0).level) }
        cancel = { SenderControl.of($0).cancel($1) }
        stop_timeout = { SenderControl.of($0).stopTimeout.nanoseconds }
        warn = { SenderControl.of($0).warn(String(cString: $1!)) }
        retain = { UnsafeMutableRawPointer(Unmanaged<SenderControl>.fromOpaque($0!).retain().toOpaque()) }
        release = { Unmanaged<SenderControl>.fromOpaque($0!).release() }
    }
}

extension SenderControl {
    fileprivate static func of(_ context: UnsafeMutableRawPointer?) -> SenderControl {
        Unmanaged<SenderControl>.fromOpaque(context!).takeUnretainedValue()
    }
}
