import MediaGraph
import Synchronization

/// A consumer that keeps a copy of every frame: attach it to a `rawdatapipe`, run the graph, and compare `frames`.
/// From a graph that goes on, `first(_:)` waits for some.
///
/// Any thread may read it, also while frames come.
public final class FrameCollector: VideoConsumer, Sendable {
    private struct State {
        var frames: [TestFrame] = []
        var statuses: [Bool] = []
        var isFinished = false
        var waiting: [(count: Int, continuation: CheckedContinuation<[TestFrame], Never>)] = []

        /// Those who wait no longer.
        mutating func satisfied(streamIsOver: Bool) -> [CheckedContinuation<[TestFrame], Never>] {
            let satisfied = waiting.filter { streamIsOver || $0.count <= frames.count }
            waiting.removeAll { streamIsOver || $0.count <= frames.count }
            return satisfied.map(\.continuation)
        }
    }

    private let state = Mutex(State())

    /// A collector without frames.
    public init() {}

    /// The frames so far, in the order in which they came.
    public var frames: [TestFrame] { state.withLock { $0.frames } }
    /// Every change of the stream's status so far.
    public var statuses: [Bool] { state.withLock { $0.statuses } }
    /// The stream has ended.
    public var isFinished: Bool { state.withLock { $0.isFinished } }

    /// The first `count` frames, waiting for them; fewer when the stream is over (its status goes off, or it ends) before.
    public func first(_ count: Int) async -> [TestFrame] {
        let received = await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.frames.count >= count { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if isThere { continuation.resume(returning: frames) }
        }
        return Array(received.prefix(count))
    }

    /// Records the status.
    public func statusChanged(isOn: Bool) { update(streamIsOver: !isOn) { $0.statuses.append(isOn) } }

    /// Records a copy of the frame.
    public func receive(_ frame: borrowing VideoFrame) throws {
        let copy = TestFrame(frame)
        update(streamIsOver: false) { $0.frames.append(copy) }
    }

    /// Records the end of the stream.
    public func finish() throws { update(streamIsOver: true) { $0.isFinished = true } }

    private func update(streamIsOver: Bool, _ change: (inout State) -> Void) {
        let (frames, satisfied) = state.withLock { state in
            change(&state)
            return (state.frames, state.satisfied(streamIsOver: streamIsOver))
        }
        for continuation in satisfied { continuation.resume(returning: frames) }
    }
}
