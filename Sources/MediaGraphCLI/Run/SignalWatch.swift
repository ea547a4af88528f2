import Dispatch

/// Takes signals off their default actions, and tells of them on a queue, where anything may be done.
final class SignalWatch {
    private let sources: [any DispatchSourceSignal]

    /// `received` is called on `queue`; signals that come faster than it returns may be told of once.
    ///
    /// Returns when they are watched, which Dispatch begins on a thread of its own by installing its handler. Until then a
    /// signal keeps its default action: one that was ignored meanwhile would be lost.
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
