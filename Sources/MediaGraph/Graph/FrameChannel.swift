import CMediaGraphABI
import GStreamer
import MediaGraphCore
import MediaGraphElements
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
        /// The reader, who looks again when there is something.
        var waiting: CheckedContinuation<Void, Never>?
        var ending: Ending?
        /// Nobody reads any more: frames are lost, and counted.
        var isAbandoned = false
        /// To be told of that.
        var onAbandon: (@Sendable () -> Void)?
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
        // Outlives the lock: a frame's release may call anything.
        var lost: Frame?
        var isQueued = false
        let isKept = monitor.wait { state -> Bool? in
            if state.isAbandoned { return false }
            if !isQueued {
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
            // It only makes the reader's task ready to run.
            if isQueued { state.waiting.take()?.resume() }
            let mayGoOn = state.queue.policy != .block || state.queue.frameCount < state.queue.bound
            return mayGoOn || state.isInterrupted ? true : nil
        }
        withExtendedLifetime(lost) {}
        return isKept == true
    }

    /// Whoever waits in `receive` returns, and nobody waits there until `resume`.
    func interrupt() { monitor.withLock { $0.isInterrupted = true } }

    func resume() { monitor.withLock { $0.isInterrupted = false } }

    func end(_ failure: ElementFailure?) {
        let waiting = monitor.withLock { state in
            if state.ending == nil || failure != nil { state.ending = failure.map(Ending.failed) ?? .finished }
            return state.waiting.take()
        }
        waiting?.resume()
    }

    /// Frames that wait.
    var count: Int { monitor.withLock(wakes: false) { $0.queue.frameCount } }

    // MARK: The reader's side

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

    /// The next frame, or `nil` for the end; `nil` as a whole: there is nothing yet.
    private func take() throws -> Frame?? {
        try monitor.withLock { state in
            guard state.waiting == nil else {
                throw MediaGraphError.wrongUsage(.init("frames", expected: "one reader at a time", actual: "two"))
            }
            if case .frame(let frame) = state.queue.take() { return frame }
            switch state.ending {
            case .failed(let failure): throw GraphError.failed(failure)
            case .finished: return .some(nil)
            case nil: return state.isAbandoned ? .some(nil) : nil
            }
        }
    }

    /// Once, when nobody reads any more, on any thread; at once where that is so.
    func whenAbandoned(_ body: @escaping @Sendable () -> Void) {
        let isAbandoned = monitor.withLock(wakes: false) { state in
            if !state.isAbandoned { state.onAbandon = body }
            return state.isAbandoned
        }
        if isAbandoned { body() }
    }

    func abandon() {
        let (waiting, lost, onAbandon) = monitor.withLock { state in
            state.isAbandoned = true
            var lost: [Frame] = []
            state.queue.removeFrames { lost.append($0) }
            return (state.waiting.take(), lost, state.onAbandon.take())
        }
        waiting?.resume()
        onAbandon?()
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
    /// A frame that the pipe delivers.
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

    /// Reads the frames. One task reads a sequence.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

    /// Reads the frames of a ``FrameSequence``.
    public struct Iterator: AsyncIteratorProtocol {
        private let reader: Reader
        fileprivate init(reader: Reader) { self.reader = reader }

        /// The next frame; `nil` at the end. Throws `GraphError.failed` when the graph failed.
        public func next() async throws -> Frame? { try await reader.channel.next() }
    }
}
