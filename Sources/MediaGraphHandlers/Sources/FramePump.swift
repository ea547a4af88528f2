import GStreamer
import MediaGraphCore
import Synchronization

/// A thread that sends numbered frames at a rate, from `start` to `stop`: what the built-in sources have in common.
///
/// Frames are stamped by their number, so an uneven pump gives even timestamps.
final class FramePump: Sendable {
    /// What became of a frame.
    enum Step {
        case sent
        /// There is none: the stream ends.
        case end
        /// The wait for it was cut short by a stop.
        case interrupted
    }

    private struct State {
        var thread: NativeThread?
        /// Running time of the next start when the pace is `fast`: the stream goes on where it was.
        var elapsed = ClockTime.zero
    }

    private let state = Mutex(State())
    private let isStopped = Atomic<Bool>(false)
    private let name: String

    init(name: String) { self.name = name }

    /// Starts the thread. `rate` is asked there, before the first frame; `nil` when a stop cut that short. `next` makes and
    /// sends frame `index` with the timestamp it is given, and is asked again for the same one when the queue stayed full.
    func start(
        _ sender: MediaSender, rate: @escaping @Sendable () throws(MediaGraphError) -> Fraction?,
        _ next: @escaping @Sendable (_ index: Int, ClockTime) throws(MediaGraphError) -> Step
    ) {
        isStopped.store(false, ordering: .releasing)
        state.withLock { state in
            state.thread = NativeThread(name) {
                do throws(MediaGraphError) {
                    guard let rate = try rate() else { return }
                    try self.pump(sender, rate, next)
                } catch {
                    // Refused because sending was stopped meanwhile: that is the end of this run, no failure.
                    if case .wrongUsage = error { return }
                    sender.fail(error)
                }
            }
        }
    }

    func stop() {
        isStopped.store(true, ordering: .releasing)
        state.withLock { $0.thread.take() }?.join()
    }

    private func pump(
        _ sender: MediaSender, _ rate: Fraction, _ next: (_ index: Int, ClockTime) throws(MediaGraphError) -> Step
    ) throws(MediaGraphError) {
        let begin = sender.pace == .live ? sender.runningTime ?? .zero : state.withLock { $0.elapsed }
        var index = 0
        while true {
            let timestamp = ClockTime(nanoseconds: begin.nanoseconds + ClockTime.frame(index, at: rate).nanoseconds)
            // The next run goes on with the first frame that this one didn't send.
            state.withLock { $0.elapsed = timestamp }
            guard !isStopped.load(ordering: .acquiring), sender.wait(until: timestamp) else { return }
            do throws(MediaGraphError) {
                switch try next(index, timestamp) {
                case .sent: index += 1
                case .interrupted: return
                case .end: return sender.endOfStream()
                }
            } catch {
                // A full queue at pace=fast: the frame is sent again, none is lost.
                guard case .timeOut = error else { throw error }
            }
        }
    }
}
