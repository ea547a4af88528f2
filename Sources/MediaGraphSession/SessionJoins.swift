import GStreamer
import Synchronization

/// The sessions, by graph, that are joining while a state change of their graph waits for them.
///
/// A graph is stopped on the queue on which it is started, and that queue is blocked while a session waits there for
/// its transport. So `Graph` cancels the joins before it queues the stop.
package enum SessionJoins {
    private struct Run: Sendable {
        let number: Int
        var isCancelled = false
        var joining: [Membership] = []
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
            return runs[graph]?.joining ?? []
        }
        for membership in joining { membership.leave() }
    }

    /// Forgets a graph, which has stopped.
    package static func forget(_ graph: Element) { runs.withLock { $0[graph] = nil } }

    /// Records that a session has begun to join. Returns false if the graph is being stopped.
    static func begin(_ membership: Membership, in graph: Element) -> Bool {
        runs.withLock { runs in
            runs[graph]?.joining.append(membership)
            return runs[graph]?.isCancelled != true
        }
    }

    static func end(_ membership: Membership, in graph: Element) {
        runs.withLock { $0[graph]?.joining.removeAll { $0 === membership } }
    }
}
