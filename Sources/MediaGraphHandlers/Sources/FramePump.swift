import GStreamer
import MediaGraphCore
import Synchronization

/// A thread that sends numbered frames at a constant rate between `start` and `stop`. The built-in sources use it.
///
/// Timestamps are computed from the frame's number, so they are even although the thread isn't.
final class FramePump: Sendable {
    /// The outcome of sending a frame.
    enum Step {
        case sent
        /// There are no more frames: the stream ends.
        case end
        /// A stop has interrupted the wait for the frame.
        case interrupted
    }

    private struct State {
        var thread: NativeThread?
        /// The running time at which the next start with `pace=fast` continues the stream.
        var elapsed = ClockTime.zero
    }

    private let state = Mutex(State())
    private let isStopped = Atomic<Bool>(false)
    private let name: String

    init(name: String) { self.name = name }

    /// Starts the thread, which calls both closures.
    ///
    /// - Parameters:
    ///   - rate: returns the frame rate before the first frame; `nil` if a stop has interrupted it.
    ///   - next: creates and sends frame `index` with the given timestamp. If the queue stays full, it is called again
    ///     for the same frame.
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
                    // The sender refuses frames after it has been stopped, which isn't a failure.
                    if case .wrongUsage = error { return }
                    sender.fail(error)
                }
            }
        }
    }

    /// Stops the thread and waits until it has ended.
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
            // The next run begins with the first frame that this one doesn't send.
            state.withLock { $0.elapsed = timestamp }
            guard !isStopped.load(ordering: .acquiring), sender.wait(until: timestamp) else { return }
            do throws(MediaGraphError) {
                switch try next(index, timestamp) {
                case .sent: index += 1
                case .interrupted: return
                case .end: return sender.endOfStream()
                }
            } catch {
                // With pace=fast, the queue stayed full. Send the frame again, so that none is lost.
                guard case .timeOut = error else { throw error }
            }
        }
    }
}

extension MediaGraphError {
    /// The error of a source whose size and rate downstream doesn't accept.
    static func notAccepted(_ capability: VideoCapability, by source: String) -> MediaGraphError {
        .unsupported(
            .init(
                source,
                actual:
                    "downstream doesn't accept \(capability.width)×\(capability.height) at "
                    + "\(capability.framesPerSecond) frames/s; "
                    + "put videoconvert ! videoscale ! videorate after the source"))
    }
}
