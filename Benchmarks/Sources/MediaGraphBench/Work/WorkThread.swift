import Dispatch
import Foundation

/// A thread that sends frames or sound, as an application's capture thread does.
final class WorkThread: Sendable {
    private let end = DispatchSemaphore(value: 0)

    /// Starts the thread.
    init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread { [end] in
            body()
            end.signal()
        }
        thread.name = name
        thread.start()
    }

    /// Blocks until `body` has returned. Call it once.
    func join() { end.wait() }
}
