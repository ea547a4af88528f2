import Dispatch
import Glibc

/// Takes signals off their default actions, and tells of them on a queue, where anything may be done.
final class SignalWatch {
    private let sources: [any DispatchSourceSignal]

    /// `received` is called on `queue`; signals that come faster than it returns may be told of once.
    init(_ signals: [CInt], on queue: DispatchQueue, _ received: @escaping @Sendable (CInt) -> Void) {
        sources = signals.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { received(number) }
            source.resume()
            return source
        }
    }

    deinit { for source in sources { source.cancel() } }
}
