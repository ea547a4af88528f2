import GStreamer
import Synchronization
import X11

/// Tells of what elements of this process lose of X screens, from when it is made until it goes.
package final class ScreenLosses: Sendable {
    /// A structure: a bare closure that is read from behind a lock comes back wrapped once more each time.
    private struct Listener: Sendable {
        var told: @Sendable (XConnections.Loss) -> Void
    }
    private static let all = Mutex<[ObjectIdentifier: Listener]>([:])

    /// `told` is called on the thread that lost something, an element's; it must not wait for that.
    package init(_ told: @escaping @Sendable (XConnections.Loss) -> Void) {
        Self.all.withLock { $0[ObjectIdentifier(self)] = Listener(told: told) }
    }

    deinit { _ = Self.all.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) } }

    /// Runs `body`, which makes elements of these factories, in turn with what else connects to an X server.
    package static func inTurn<Result, Failure: Error>(
        _ factories: Set<String>, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        connects(factories) ? try ScreenTurn.take(within: ScreenTurn.graphTimeLimit, body) : try body()
    }

    /// Whether an element of one of these factories may connect to an X server.
    private static func connects(_ factories: Set<String>) -> Bool {
        !factories.isDisjoint(with: [ScreenCapture.factory, "autovideosink"] + ScreenCaptures.windowSinks)
    }

    /// Call this before elements of these factories are made: they connect as soon as they are linked, and Xlib ends the
    /// process when one loses what it captures.
    package static func keepProcess(by factories: Set<String>) {
        guard connects(factories) else { return }
        _ = XConnections.keepProcess { loss in
            for listener in all.withLock({ Array($0.values) }) { listener.told(loss) }
            if case .server = loss { ScreenTurn.serverHasGone() }
        }
    }
}
