import GStreamer

/// Drives the task of a source that is one, from `startSend` to `stopSend`.
package final class SourceTask: Sendable {
    private struct State: Sendable {
        var task: Task<Void, Never>?
        /// The task of an earlier start may still run.
        var running = false
    }

    private let monitor = BlockingMonitor(State())

    package init() {}

    /// `run` returning ends the stream; what it throws ends the graph, but for what a stop brings about.
    package func start(
        _ sender: MediaSender, _ run: @escaping @Sendable () async throws -> Void
    ) throws(MediaGraphError) {
        let isFree = monitor.withLock { state in
            guard !state.running else { return false }
            state.running = true
            state.task = Task.detached(priority: .userInitiated) { [monitor] in
                do {
                    try await run()
                    if !Task.isCancelled { sender.endOfStream() }
                } catch {
                    // Whatever a stop brought about is no failure: the gate closes before the task is cancelled.
                    if !Task.isCancelled, sender.isSending {
                        sender.fail(MediaGraphError.wrapping(error, "the source"))
                    }
                }
                monitor.withLock { $0.running = false }
            }
            return true
        }
        guard isFree else {
            throw .alreadyInUse(
                .init(
                    "the source", expected: "its task to have ended after the last stop", actual: "one that still runs")
            )
        }
    }

    /// Cancels the task and waits for its end, at most `stop-timeout`.
    package func stop(_ sender: MediaSender?) {
        monitor.withLock { $0.task.take() }?.cancel()
        let timeout = sender?.stopTimeout ?? .zero
        let ended = monitor.wait(timeout: Int64(timeout.nanoseconds / 1000)) { $0.running ? nil : true }
        if ended == nil {
            sender?.warn("the source's task still runs \(timeout.seconds) s after it was cancelled (stop-timeout)")
        }
    }
}
