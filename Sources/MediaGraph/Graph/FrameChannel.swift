import CMediaGraphABI
import GStreamer
import Synchronization

/// From a pipe's streaming thread to a task: a bounded queue that suspends the task and, where the stream may wait, the
/// thread.
final class FrameChannel<Frame: Sendable>: Sendable {
    private enum Ending: Sendable {
        case finished
        case failed(ElementFailure)
    }

    private struct State: Sendable {
        var queue = BoundedQueue<Frame, Never>(bound: 2, policy: .block)
        var waiting: CheckedContinuation<Frame?, any Error>?
        var ending: Ending?
        /// Nobody reads any more: frames are lost, and counted.
        var isAbandoned = false
        var isInterrupted = false
    }

    private let monitor = BlockingMonitor(State())

    // MARK: The pipe's side, one thread at a time

    func start(_ policy: OverflowPolicy, maxFrames: Int) {
        _ = monitor.withLock { state in
            let last = state.queue
            state.queue = BoundedQueue<Frame, Never>(bound: maxFrames, policy: policy)
            state.ending = nil
            return last
        }
    }

    /// False when this frame or an older one was lost.
    ///
    /// A frame that fills a blocking queue is in it while its thread waits for room, and an interrupted wait, before a change
    /// of state, leaves it there. A frame that came to a full queue after that is kept beyond the bound when it is
    /// interrupted in turn: one for each pause while nobody reads, and none is lost.
    func receive(_ frame: Frame) -> Bool {
        var handOver: CheckedContinuation<Frame?, any Error>?
        // Outlives the lock: a frame's release may call anything.
        var lost: Frame?
        var isQueued = false
        let isKept = monitor.wait { state -> Bool? in
            if state.isAbandoned { return false }
            if !isQueued {
                if let waiting = state.waiting.take() {
                    handOver = waiting
                    return true
                }
                switch state.queue.offer(frame) {
                case .accepted: isQueued = true
                case .full where state.isInterrupted:
                    state.queue.force(frame)
                    isQueued = true
                case .full: return nil
                case .dropped(let frame):
                    lost = frame
                    return false
                }
            }
            let mayGoOn = state.queue.policy != .block || state.queue.frameCount < state.queue.bound
            return mayGoOn || state.isInterrupted ? true : nil
        }
        handOver?.resume(returning: frame)
        withExtendedLifetime(lost) {}
        return isKept == true
    }

    /// Whoever waits in `receive` returns, and nobody waits there until `resume`.
    func interrupt() { monitor.withLock { $0.isInterrupted = true } }

    func resume() { monitor.withLock { $0.isInterrupted = false } }

    func end(_ failure: ElementFailure?) {
        let waiting = monitor.withLock { state -> CheckedContinuation<Frame?, any Error>? in
            if state.ending == nil || failure != nil { state.ending = failure.map(Ending.failed) ?? .finished }
            return state.waiting.take()
        }
        if let failure {
            waiting?.resume(throwing: GraphError.failed(failure))
        } else {
            waiting?.resume(returning: nil)
        }
    }

    /// Frames that wait.
    var count: Int { monitor.withLock(wakes: false) { $0.queue.frameCount } }

    // MARK: The reader's side

    func next() async throws -> Frame? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let immediate = monitor.withLock { state -> Result<Frame?, any Error>? in
                    if case .frame(let frame) = state.queue.take() { return .success(frame) }
                    switch state.ending {
                    case .failed(let failure): return .failure(GraphError.failed(failure))
                    case .finished: return .success(nil)
                    case nil: break
                    }
                    if state.isAbandoned { return .success(nil) }
                    if state.waiting != nil {
                        return .failure(
                            MediaGraphError.wrongUsage(.init("frames", expected: "one reader at a time", actual: "two"))
                        )
                    }
                    state.waiting = continuation
                    return nil
                }
                if let immediate { continuation.resume(with: immediate) }
            }
        } onCancel: {
            abandon()
        }
    }

    func abandon() {
        let (waiting, lost) = monitor.withLock { state in
            state.isAbandoned = true
            var lost: [Frame] = []
            state.queue.removeFrames { lost.append($0) }
            return (state.waiting.take(), lost)
        }
        waiting?.resume(returning: nil)
        // Outside the lock: a frame's release may call anything.
        _ = consume lost
    }
}

/// A channel as its graph knows it, whatever its frames are.
protocol EndingChannel: AnyObject, Sendable {
    func interrupt()
    func end(_ failure: ElementFailure?)
}

extension FrameChannel: EndingChannel {}

/// The channels of a graph, which end with it.
final class WeakStreams: Sendable {
    private struct Entry: Sendable { weak var channel: (any EndingChannel)? }
    private let entries = Mutex<[Entry]>([])

    func add(_ channel: any EndingChannel) { entries.withLock { $0.append(Entry(channel: channel)) } }

    func end(_ end: GraphEnd) {
        let channels = entries.withLock { $0.compactMap(\.channel) }
        for channel in channels {
            switch end {
            case .failed(let failure): channel.end(failure)
            // At end-of-stream the pipe ends the channel itself, behind its last frame.
            case .endOfStream: break
            case .stopped:
                channel.interrupt()
                channel.end(nil)
            }
        }
    }
}

/// A pipe's frames as they come. Reading ends with the graph: with its error when it failed.
public struct FrameSequence<Frame: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Frame

    /// Tells the pipe when nobody can read any more.
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

    public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

    public struct Iterator: AsyncIteratorProtocol {
        private let reader: Reader
        fileprivate init(reader: Reader) { self.reader = reader }

        /// The next frame; `nil` at the end. Throws `GraphError.failed` when the graph failed.
        public func next() async throws -> Frame? { try await reader.channel.next() }
    }
}
