import GStreamer
import Synchronization

/// Runs the task of a source such as an ``AsyncVideoSource`` from `startSend` to `stopSend`.
package final class SourceTask: Sendable {
    private struct State: Sendable {
        var task: Task<Void, Never>?
        /// Whether a task runs, including one of an earlier start that hasn't ended yet.
        var isRunning = false
        /// Whether the source is one of `lingering`.
        var isLingering = false
    }

    /// A source in its role: one object may be a source of video and of sound.
    private struct Role: Hashable {
        let source, sender: ObjectIdentifier
    }

    /// The sources with tasks that outlasted their stop, and the number of these tasks. A source may be given to another
    /// node, with another `SourceTask`, while its task still runs. The task retains the source, so no other object has
    /// the same identity meanwhile.
    private static let lingering = Mutex<[Role: Int]>([:])

    private let role: Role
    private let monitor = BlockingMonitor(State())

    /// - Parameters:
    ///   - source: the source whose task this is.
    ///   - sender: the type of the sender that the task uses.
    package init(_ source: some AnyObject, _ sender: MediaSender.Type) {
        role = Role(source: ObjectIdentifier(source), sender: ObjectIdentifier(sender))
    }

    deinit { monitor.withLock { $0.task.take() }?.cancel() }

    /// Calls `prepare`, and then starts the task. The stream ends when `run` returns. An error that `run` throws ends the
    /// graph, unless a stop caused it. Throws what `prepare` throws, and `alreadyInUse`, before it calls anything, if
    /// the task of the source's last start still runs.
    package func start(
        _ sender: MediaSender, after prepare: () throws -> Void, _ run: @escaping @Sendable () async throws -> Void
    ) throws {
        let isFree = monitor.withLock { [role] state in
            guard !state.isRunning, Self.lingering.withLock({ $0[role] == nil }) else { return false }
            state.isRunning = true
            return true
        }
        guard isFree else {
            throw MediaGraphError.alreadyInUse(
                .init(
                    "the source", actual: "its task still runs after the last stop; end the task when it is cancelled"))
        }
        do { try prepare() } catch {
            monitor.withLock { $0.isRunning = false }
            throw error
        }
        let task = Task.detached(priority: .userInitiated) { [monitor, role] in
            do {
                try await run()
                if !Task.isCancelled { sender.endOfStream() }
            } catch {
                // Errors that a stop causes are no failures. The node closes the gate before it cancels the task.
                if !Task.isCancelled, sender.isSending {
                    sender.fail(MediaGraphError.wrapping(error, "the source"))
                }
            }
            monitor.withLock { state in
                if state.isLingering { Self.count(-1, of: role) }
                (state.isRunning, state.isLingering) = (false, false)
            }
        }
        monitor.withLock { $0.task = task }
    }

    /// Cancels the task and waits until it ends, at most for the node's `stop-timeout`. A task that still runs then
    /// causes a warning, and no node starts the source again before the task has ended.
    package func stop(_ sender: MediaSender?) {
        monitor.withLock { $0.task.take() }?.cancel()
        let timeout = sender?.stopTimeout ?? .zero
        guard monitor.wait(timeout: timeout, { $0.isRunning ? nil : true }) == nil else { return }
        let isLate = monitor.withLock { [role] state in
            if state.isRunning, !state.isLingering {
                state.isLingering = true
                Self.count(1, of: role)
            }
            return state.isRunning
        }
        guard isLate else { return }
        sender?.warn("the source's task still runs \(timeout.seconds) s after it was cancelled (stop-timeout)")
    }

    private static func count(_ change: Int, of role: Role) {
        lingering.withLock { lingering in
            let count = lingering[role, default: 0] + change
            lingering[role] = count > 0 ? count : nil
        }
    }
}
