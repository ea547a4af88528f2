import GStreamer

/// A change of state that a driver or a server may never answer, on a thread that can be left behind: whoever changes the
/// node's state, and the whole graph with it, waits only so long.
final class DeviceStateChange: Sendable {
    enum Outcome {
        case done, failed
        /// The device is its thread's now, until it answers.
        case abandoned
    }

    private let outcome = BlockingMonitor<Outcome?>(nil)

    /// Once. `change` is false when the device can't; `after` follows it when nobody has waited.
    func run(
        patience microseconds: Int64, _ change: @escaping @Sendable () -> Bool, after: @escaping @Sendable () -> Void
    ) -> Outcome {
        let thread = NativeThread("device-state") { [outcome] in
            let result = change() ? Outcome.done : .failed
            let isWanted = outcome.withLock { outcome in
                outcome = outcome ?? result
                return outcome != .abandoned
            }
            if !isWanted { after() }
        }
        _ = outcome.wait(timeout: microseconds) { $0 }
        // It may have answered just now.
        abandon()
        let result = outcome.withLock { $0! }
        if result == .abandoned { thread.detach() } else { thread.join() }
        return result
    }

    /// Whoever waits for it goes on without, unless it has answered. Any thread.
    func abandon() { outcome.withLock { $0 = $0 ?? .abandoned } }
}
