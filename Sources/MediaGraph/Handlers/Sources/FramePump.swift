import GStreamer
import Synchronization

/// A thread that sends numbered frames at a rate, from `start` to `stop`: what the built-in sources have in common.
///
/// Frames are stamped by their number, so an uneven pump gives even timestamps.
final class FramePump: Sendable {
    private struct State {
        var thread: NativeThread?
        /// Running time of the next start when the pace is `fast`: the stream goes on where it was.
        var elapsed = ClockTime.zero
    }

    private let state = Mutex(State())
    private let isStopped = Atomic<Bool>(false)
    private let name: String

    init(name: String) { self.name = name }

    /// Starts the thread. `next` makes and sends frame `index` with the timestamp it is given; false ends the stream.
    func start(
        _ sender: VideoSender, rate: Fraction, _ next: @escaping @Sendable (_ index: Int, ClockTime) throws(MediaGraphError) -> Bool
    ) {
        isStopped.store(false, ordering: .releasing)
        let begin = sender.pace == .live ? sender.runningTime ?? .zero : state.withLock { $0.elapsed }
        state.withLock { state in
            state.thread = NativeThread(name) { self.pump(sender, rate, from: begin, next) }
        }
    }

    func stop() {
        isStopped.store(true, ordering: .releasing)
        state.withLock { $0.thread.take() }?.join()
    }

    private func pump(
        _ sender: VideoSender, _ rate: Fraction, from begin: ClockTime,
        _ next: (_ index: Int, ClockTime) throws(MediaGraphError) -> Bool
    ) {
        var index = 0
        do throws(MediaGraphError) {
            while !isStopped.load(ordering: .acquiring) {
                let offset = UInt64(index) * 1_000_000_000 * UInt64(rate.denominator) / UInt64(rate.numerator)
                let timestamp = ClockTime(nanoseconds: begin.nanoseconds + offset)
                state.withLock { $0.elapsed = timestamp }
                guard sender.wait(until: timestamp) else { return }
                do throws(MediaGraphError) {
                    guard try next(index, timestamp) else {
                        sender.endOfStream()
                        return
                    }
                    index += 1
                } catch {
                    // A full queue at pace=fast: the frame is sent again, none is lost.
                    guard case .timeOut = error else { throw error }
                }
            }
        } catch {
            // Refused because sending was stopped meanwhile: that is the end of this run, no failure.
            if case .wrongUsage = error { return }
            sender.fail(error)
        }
    }
}
