import GStreamer

/// Runs the task of an ``AsyncVideoSource`` or ``AsyncVirtualMic`` from `startSend` to `stopSend`.
package final class SourceTask: Sendable {
    private struct State: Sendable {
        var task: Task<Void, Never>?
        /// Whether a task runs, including one of an earlier start that hasn't ended yet.
        var running = false
    }

    private let monitor = BlockingMonitor(State())

    package init() {}

    /// Starts the task. The stream ends when `run` returns. An error that `run` throws ends the graph, unless a stop
    /// caused it. Throws `alreadyInUse` if the task of the last start still runs.
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
                    // Errors that a stop causes are no failures. The node closes the gate before it cancels the task.
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
                    "the source", actual: "its task still runs after the last stop; end the task when it is cancelled"))
        }
    }

    /// Cancels the task and waits until it ends, at most for the node's `stop-timeout`.
    package func stop(_ sender: MediaSender?) {
        monitor.withLock { $0.task.take() }?.cancel()
        let timeout = sender?.stopTimeout ?? .zero
        let ended = monitor.wait(timeout: timeout) { $0.running ? nil : true }
        if ended == nil {
            sender?.warn("the source's task still runs \(timeout.seconds) s after it was cancelled (stop-timeout)")
        }
    }
}
