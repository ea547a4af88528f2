import Dispatch
import Synchronization

/// Tells the first request to end from one that means it.
final class SignalCount: Sendable {
    private let first = Mutex<DispatchTime?>(nil)

    /// GNU `timeout` signals first the process and then its whole group: that is one request.
    static let sameRequest = 0.3

    enum Request { case first, repeated, again }

    func count(at now: DispatchTime = .now()) -> Request {
        first.withLock { first in
            guard let before = first else {
                first = now
                return .first
            }
            let elapsed = Double(now.uptimeNanoseconds &- before.uptimeNanoseconds) / 1e9
            return elapsed < Self.sameRequest ? .repeated : .again
        }
    }
}
