import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphElements
import Synchronization

/// A bounded queue from a pipe's streaming thread to a task. An empty queue suspends the task; a full one blocks the
/// thread, unless the stream is live and drops frames.
final class FrameChannel<Frame: Sendable>: Sendable {
    private enum Ending: Sendable {
        case finished
        case failed(ElementFailure)
    }

    private struct State: Sendable {
        var queue = BoundedQueue<Frame, Never>(bound: 2, policy: .block)
        /// The waiting reader, which calls `take` again when it is resumed.
        var waiting: CheckedContinuation<Void, Never>?
        var ending: Ending?
        /// Whether the reader is gone; frames are then dropped and counted.
        var isAbandoned = false
        /// Called once when the reader is gone.
        var onAbandon: (@Sendable () -> Void)?
        /// Whether `receive` returns instead of waiting for room.
        var isInterrupted = false
    }

    private let monitor = BlockingMonitor(State())

    // MARK: The pipe's side, one thread at a time

    /// Begins a run with an empty queue.
    func start(_ policy: OverflowPolicy, maxFrames: Int) {
        _ = monitor.withLock { state in
            let last = state.queue
            state.queue = BoundedQueue<Frame, Never>(bound: maxFrames, policy: policy)
            state.ending = nil
            return last
        }
    }

    /// Queues a frame and, in a blocking queue, waits until there is room for the next one. Returns false if this frame
    /// or an older one was dropped.
    ///
    /// The frame that fills a blocking queue is queued before its thread waits, and stays queued when a state change
    /// interrupts the wait. The next frame then finds the queue full; if its wait is interrupted too, it is queued
    /// beyond the bound. So no frame is lost, and the queue grows by one frame for each pause during which nobody
    /// reads.
    func receive(_ frame: Frame) -> Bool {
        // Released after the lock, because a frame's release may call anything.
        var lost: Frame?
        var isQueued = false
        let isKept = monitor.wait { state -> Bool? in
            if state.isAbandoned { return false }
            if !isQueued {
                switch state.queue.offer(frame) {
                case .accepted: isQueued = true
                case .full where state.isInterrupted:
                    state.queue.appendBeyondBound(frame)
                    isQueued = true
                case .full: return nil
                case .dropped(let frame):
                    lost = frame
                    return false
                }
            }
            // Safe under the lock: resuming only schedules the reader's task.
            if isQueued { state.waiting.take()?.resume() }
            let mayGoOn = state.queue.policy != .block || state.queue.frameCount < state.queue.bound
            return mayGoOn || state.isInterrupted ? true : nil
        }
        withExtendedLifetime(lost) {}
        return isKept == true
    }

    /// Makes `receive` return without waiting for room, until `resume`.
    func interrupt() { monitor.withLock { $0.isInterrupted = true } }

    /// Lets `receive` wait for room again.
    func resume() { monitor.withLock { $0.isInterrupted = false } }

    /// Ends the stream behind the queued frames, with an error if `failure` isn't `nil`.
    func end(_ failure: ElementFailure?) {
        let waiting = monitor.withLock { state in
            if state.ending == nil || failure != nil { state.ending = failure.map(Ending.failed) ?? .finished }
            return state.waiting.take()
        }
        waiting?.resume()
    }

    /// The number of queued frames.
    var count: Int { monitor.withLock(wakes: false) { $0.queue.frameCount } }

    // MARK: The reader's side

    /// Waits for the next frame; `nil` at the end of the stream. Cancelling the task abandons the channel.
    func next() async throws -> Frame? {
        try await withTaskCancellationHandler {
            while true {
                if let taken = try take() { return taken }
                await withCheckedContinuation { continuation in
                    let isWaiting = monitor.withLock(wakes: false) { state in
                        guard state.queue.frameCount == 0, state.ending == nil, !state.isAbandoned, state.waiting == nil
                        else { return false }
                        state.waiting = continuation
                        return true
                    }
                    if !isWaiting { continuation.resume() }
                }
            }
        } onCancel: {
            abandon()
        }
    }

    /// Takes the next frame. The inner optional is `nil` at the end of the stream, the outer one if nothing is queued
    /// yet.
    private func take() throws -> Frame?? {
        try monitor.withLock { state in
            guard state.waiting == nil else {
                throw MediaGraphError.wrongUsage(
                    .init("the frame sequence", actual: "is being read by another task; read it from one task only"))
            }
            if case .frame(let frame) = state.queue.take() { return frame }
            switch state.ending {
            case .failed(let failure): throw GraphError.failed(failure)
            case .finished: return .some(nil)
            case nil: return state.isAbandoned ? .some(nil) : nil
            }
        }
    }

    /// Calls `body` once, on any thread, when the reader is gone; at once if it is already gone.
    func whenAbandoned(_ body: @escaping @Sendable () -> Void) {
        let isAbandoned = monitor.withLock(wakes: false) { state in
            if !state.isAbandoned { state.onAbandon = body }
            return state.isAbandoned
        }
        if isAbandoned { body() }
    }

    /// Drops the queued frames and all that follow, because the reader is gone.
    func abandon() {
        let (waiting, lost, onAbandon) = monitor.withLock { state in
            state.isAbandoned = true
            var lost: [Frame] = []
            state.queue.removeFrames { lost.append($0) }
            return (state.waiting.take(), lost, state.onAbandon.take())
        }
        waiting?.resume()
        onAbandon?()
        // Released after the lock, because a frame's release may call anything.
        _ = consume lost
    }
}

/// A channel that its graph can end, regardless of the type of its frames.
protocol EndingChannel: AnyObject, Sendable {
    func interrupt()
    func end(_ failure: ElementFailure?)
}

extension FrameChannel: EndingChannel {}

/// The channels that end with a graph. Holds them weakly.
final class WeakChannels: Sendable {
    private struct Entry: Sendable { weak var channel: (any EndingChannel)? }
    private let entries = Mutex<[Entry]>([])

    func add(_ channel: any EndingChannel) {
        entries.withLock { entries in
            entries.removeAll { $0.channel == nil }
            entries.append(Entry(channel: channel))
        }
    }

    func end(_ end: GraphEnd) {
        let channels = entries.withLock { $0.compactMap(\.channel) }
        for channel in channels {
            switch end {
            case .failed(let failure): channel.end(failure)
            // At end-of-stream the pipe itself ends the channel, after its last frame.
            case .endOfStream: break
            case .stopped:
                channel.interrupt()
                channel.end(nil)
            }
        }
    }
}

/// The frames of a pipe as an asynchronous sequence, which one task reads. It ends with the graph, and throws the
/// graph's error if the graph failed.
public struct FrameSequence<Frame: Sendable>: AsyncSequence, Sendable {
    /// A frame delivered by the pipe.
    public typealias Element = Frame

    /// Abandons the channel when the sequence and its iterators have been released.
    fileprivate final class Reader: Sendable {
        let channel: FrameChannel<Frame>
        let graph: Graph
        init(_ channel: FrameChannel<Frame>, _ graph: Graph) {
            self.channel = channel
            self.graph = graph
        }
        deinit { channel.abandon() }
    }

    private let reader: Reader

    init(_ channel: FrameChannel<Frame>, graph: Graph) { reader = Reader(channel, graph) }

    /// Returns an iterator over the frames. Only one task may read a sequence.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

    /// The iterator of a ``FrameSequence``.
    public struct Iterator: AsyncIteratorProtocol {
        private let reader: Reader
        fileprivate init(reader: Reader) { self.reader = reader }

        /// Waits for the next frame; `nil` at the end. Throws `GraphError.failed` if the graph failed, and
        /// `MediaGraphError.wrongUsage` if another task is waiting for a frame.
        public func next() async throws -> Frame? { try await reader.channel.next() }
    }
}
