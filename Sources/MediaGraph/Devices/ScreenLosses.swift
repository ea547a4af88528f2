import GStreamer
import Synchronization

/// Tells of what elements of this process lose of X screens, from when it is made until it goes.
final class ScreenLosses: Sendable {
    /// A structure: a bare closure that is read from behind a lock comes back wrapped once more each time.
    private struct Listener: Sendable {
        var told: @Sendable (XConnections.Loss) -> Void
    }
    private static let all = Mutex<[ObjectIdentifier: Listener]>([:])

    /// `told` is called on the thread that lost something, an element's; it must not wait for that.
    init(_ told: @escaping @Sendable (XConnections.Loss) -> Void) {
        Self.all.withLock { $0[ObjectIdentifier(self)] = Listener(told: told) }
    }

    deinit { _ = Self.all.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) } }

    /// Makes a graph's elements of its description.
    static func inTurn<Result, Failure: Error>(
        _ text: String, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        connects(text) ? try ScreenTurn.take(within: ScreenTurn.graphsPatience, body) : try body()
    }

    /// Whether elements of a description may connect to an X server.
    private static func connects(_ text: String) -> Bool {
        ([ScreenCapture.factory, "autovideosink"] + ScreenCaptures.windowSinks).contains(where: text.contains)
    }

    /// Before elements are made of a description: they connect as soon as they are linked, and Xlib ends the process when one
    /// loses what it captures.
    static func keepProcess(by text: String) {
        guard connects(text) else { return }
        _ = XConnections.keepProcess { loss in
            for listener in all.withLock({ Array($0.values) }) { listener.told(loss) }
            if case .server = loss { ScreenTurn.serverHasGone() }
        }
    }
}
