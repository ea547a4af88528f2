import GStreamer
import MediaGraphCore

/// A gate, whatever goes through it: what a sender asks of it besides sending.
///
/// `@unchecked Sendable`: constants, each `Sendable`; a subclass says what guards its state.
class SenderControl: @unchecked Sendable {
    let statistics = NodeStatistics()
    /// Those who wait for the clock.
    let alarm = ClockAlarm()
    let owner: WeakElement
    /// Frames may come before PLAYING, when the element's clock and base time don't go together yet.
    private let startsEarly: Bool

    init(owner: WeakElement, startsEarly: Bool) {
        self.owner = owner
        self.startsEarly = startsEarly
    }

    /// `nil` without a clock to tell it by.
    var runningTime: ClockTime? {
        guard let element = owner.element, !startsEarly || element.isPlaying else { return nil }
        return element.currentRunningTime
    }

    func warn(_ text: String) { owner.postWarning(.processing, "\(owner.name): \(text)") }

    /// Waits for a running time; false when sending has been stopped meanwhile.
    final func wait(until time: ClockTime) -> Bool {
        while true {
            guard isOpen else { return false }
            guard pace == .live, let element = owner.element, let now = element.currentRunningTime, now < time else {
                return true
            }
            alarm.wait(for: time, of: element) { !isOpen }
        }
    }

    // MARK: For the subclass to override

    var isOpen: Bool { false }
    var pace: Pace { .live }
    var stopTimeout: ClockTime { .zero }
    /// How much waits, by weight.
    var level: Int { 0 }
    /// The stream ends behind what is queued; only while sending.
    func endOfStream() {}
    /// The same with an error.
    func fail(_ error: MediaGraphError) {}
    /// Gives up a send that still waits.
    func cancel(_ ticket: UInt64) {}
}
