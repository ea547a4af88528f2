import GStreamer
import Synchronization

/// The sessions, by graph, that are joining while a state change of their graph waits for them.
///
/// A graph is stopped on the queue on which it is started, and that queue is blocked while a session waits there for
/// its transport. So `Graph` cancels the joins before it queues the stop.
package enum SessionJoins {
    private struct Run: Sendable {
        let number: Int
        /// Whether the graph is being stopped.
        var isCancelled = false
        /// Whether the caller who makes sessions join in the running graph has given up.
        var isInterrupted = false
        var joining: [Membership] = []

        var refusesJoins: Bool { isCancelled || isInterrupted }

        /// Takes out the sessions that are joining, whose joins are to be cancelled.
        mutating func takeJoining() -> [Membership] {
            defer { joining = [] }
            return joining
        }
    }

    private static let runs = Mutex<[Element: Run]>([:])

    /// Lets sessions join in a run of a graph, until `cancel` is called for that run. Sessions of other pipelines join
    /// at any time.
    package static func permit(in graph: Element, run: Int) { runs.withLock { $0[graph] = Run(number: run) } }

    /// Cancels the joins that a graph waits for, and refuses those that begin later in the same run.
    package static func cancel(in graph: Element, run: Int) {
        let joining = runs.withLock { runs -> [Membership] in
            guard runs[graph]?.number == run else { return [] }
            runs[graph]?.isCancelled = true
            return runs[graph]?.takeJoining() ?? []
        }
        for membership in joining { membership.leave() }
    }

    /// Cancels the joins that a running graph waits for, and refuses those that begin later, until `resume` is called.
    /// The graph goes on.
    package static func interrupt(in graph: Element) {
        let joining = runs.withLock { runs -> [Membership] in
            runs[graph]?.isInterrupted = true
            return runs[graph]?.takeJoining() ?? []
        }
        for membership in joining { membership.leave() }
    }

    /// Lets sessions join again after `interrupt`.
    package static func resume(in graph: Element) { runs.withLock { $0[graph]?.isInterrupted = false } }

    /// Forgets a graph, which has stopped.
    package static func forget(_ graph: Element) { runs.withLock { $0[graph] = nil } }

    /// Records that a session has begun to join. Returns false if the join is cancelled already.
    static func begin(_ membership: Membership, in graph: Element) -> Bool {
        runs.withLock { runs in
            guard runs[graph]?.refusesJoins != true else { return false }
            runs[graph]?.joining.append(membership)
            return true
        }
    }

    /// Records that a session's join has ended. Returns false if the join was cancelled before, even if the transport
    /// had let the user in by then.
    static func end(_ membership: Membership, in graph: Element) -> Bool {
        runs.withLock { runs in
            // Sessions of other pipelines aren't recorded.
            guard let joining = runs[graph]?.joining else { return true }
            runs[graph]?.joining.removeAll { $0 === membership }
            return joining.contains { $0 === membership }
        }
    }
}
