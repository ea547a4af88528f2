import Dispatch
import Synchronization

/// Replaces the default actions of signals by a closure that runs on a queue, where any function may be called.
final class SignalWatch {
    private let sources: [any DispatchSourceSignal]

    /// Calls `received` on `queue` for each signal, until the watch is deinitialized. Signals that arrive while
    /// `received` runs may be combined into one call.
    ///
    /// Returns when the signals are watched. Dispatch installs its handler on another thread; until then a signal keeps
    /// its default action. Ignoring the signal in the meantime would lose it.
    init(_ signals: [CInt], on queue: DispatchQueue, _ received: @escaping @Sendable (CInt) -> Void) async {
        var sources: [any DispatchSourceSignal] = []
        for number in signals {
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { received(number) }
            await withCheckedContinuation { continuation in
                source.setRegistrationHandler { continuation.resume() }
                source.resume()
            }
            sources.append(source)
        }
        self.sources = sources
    }

    deinit { for source in sources { source.cancel() } }
}

/// Tells the first signal that asks for an end from a later one that demands it at once.
final class SignalCount: Sendable {
    private let first = Mutex<DispatchTime?>(nil)

    /// Signals within this time are one request: GNU `timeout` signals the process and then its whole group.
    static let sameRequest = Duration.milliseconds(300)

    enum Request {
        case first
        /// The same request as the first one.
        case repeated
        /// A second request.
        case again
    }

    func count(at now: DispatchTime = .now()) -> Request {
        first.withLock { first in
            guard let before = first else {
                first = now
                return .first
            }
            let elapsed = Duration.nanoseconds(now.uptimeNanoseconds &- before.uptimeNanoseconds)
            return elapsed < Self.sameRequest ? .repeated : .again
        }
    }
}
