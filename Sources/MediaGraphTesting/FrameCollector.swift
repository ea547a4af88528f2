import MediaGraph
import Synchronization

/// A consumer that keeps a copy of every frame: attach it to a `rawdatapipe`, run the graph, and compare `frames`.
/// While the graph runs, `first(_:)` waits for a number of frames.
///
/// Thread-safe: any thread may read the properties while frames arrive.
public final class FrameCollector: VideoConsumer, Sendable {
    private struct State {
        var frames: [TestFrame] = []
        var statuses: [Bool] = []
        var isFinished = false
        var waiting: [(count: Int, continuation: CheckedContinuation<[TestFrame], Never>)] = []

        /// Removes and returns the continuations whose wait is over.
        mutating func satisfied(streamIsOver: Bool) -> [CheckedContinuation<[TestFrame], Never>] {
            let satisfied = waiting.filter { streamIsOver || $0.count <= frames.count }
            waiting.removeAll { streamIsOver || $0.count <= frames.count }
            return satisfied.map(\.continuation)
        }
    }

    private let state = Mutex(State())

    /// Creates a collector without frames.
    public init() {}

    /// The frames received so far, in order of arrival.
    public var frames: [TestFrame] { state.withLock { $0.frames } }
    /// The changes of the stream's status so far: `true` for on, `false` for off.
    public var statuses: [Bool] { state.withLock { $0.statuses } }
    /// Whether the stream has ended.
    public var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Waits for the first `count` frames and returns them. Returns fewer if the stream ends, or its status changes to
    /// off, before that.
    public func first(_ count: Int) async -> [TestFrame] {
        let received = await withCheckedContinuation { continuation in
            let hasEnough = state.withLock { state in
                if state.frames.count >= count { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if hasEnough { continuation.resume(returning: frames) }
        }
        return Array(received.prefix(count))
    }

    /// Records a change of the stream's status.
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
