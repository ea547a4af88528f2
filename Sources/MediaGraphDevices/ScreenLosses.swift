import GStreamer
import Synchronization
import X11

/// Notifies when elements of this process lose an X screen or a window, from its creation until it is released.
package final class ScreenLosses: Sendable {
    /// A structure, because a bare closure that is read through a lock is wrapped once more by each read.
    private struct Listener: Sendable {
        var lost: @Sendable (XConnections.Loss) -> Void
    }
    private static let all = Mutex<[ObjectIdentifier: Listener]>([:])

    /// `lost` is called on the thread of the element that lost something, and must not wait for that element.
    package init(_ lost: @escaping @Sendable (XConnections.Loss) -> Void) {
        Self.all.withLock { $0[ObjectIdentifier(self)] = Listener(lost: lost) }
    }

    deinit { _ = Self.all.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) } }

    /// Runs `body`, which creates elements of these factories. If one of them may connect to an X server, `body` waits
    /// for its turn, as all code that connects does.
    package static func inTurn<Result, Failure: Error>(
        _ factories: Set<String>, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        connects(factories) ? try ScreenTurn.take(within: ScreenTurn.graphTimeLimit, body) : try body()
    }

    /// Whether an element of one of these factories may connect to an X server.
    private static func connects(_ factories: Set<String>) -> Bool {
        !factories.isDisjoint(with: [ScreenCapture.factory, "autovideosink"] + ScreenCaptures.windowSinks)
    }

    /// Keeps the process alive when an element of these factories loses its X server or window, in which case Xlib
    /// would end the process. Call this before the elements are created, because they connect as soon as they are
    /// linked.
    package static func keepProcess(by factories: Set<String>) {
        guard connects(factories) else { return }
        _ = XConnections.keepProcess { loss in
            for listener in all.withLock({ Array($0.values) }) { listener.lost(loss) }
            if case .server = loss { ScreenTurn.serverHasGone() }
        }
    }
}
