import GStreamer
import Synchronization

/// The one device monitor of this process, running while somebody looks at it: in GStreamer 1.22 a second one that is stopped
/// silences the first.
final class SharedDeviceMonitor: Sendable {
    private struct State: Sendable {
        var monitor: DeviceMonitor?
        var holders = 0
        var listeners: [ObjectIdentifier: @Sendable () -> Void] = [:]
    }

    static let shared = SharedDeviceMonitor()
    private let state = Mutex(State())

    /// Starts it for the first who holds it, which blocks. On the devices' queue, as `release` is.
    func hold() -> DeviceMonitor {
        let (monitor, isNew) = state.withLock { state in
            state.holders += 1
            if let monitor = state.monitor { return (monitor, false) }
            let monitor = DeviceMonitor()
            state.monitor = monitor
            return (monitor, true)
        }
        if isNew {
            monitor.onChange { [self] in tell() }
            _ = monitor.start()
        }
        return monitor
    }

    /// Has all providers look again: ALSA's keeps the list that it made at the start. Blocks, as `hold` does.
    func restart() {
        guard let monitor = state.withLock({ $0.monitor }) else { return }
        monitor.stop()
        _ = monitor.start()
    }

    func release() {
        let unused = state.withLock { state -> DeviceMonitor? in
            state.holders -= 1
            return state.holders == 0 ? state.monitor.take() : nil
        }
        unused?.stop()
    }

    /// `listener` is called on a provider's thread.
    func add(_ listener: @escaping @Sendable () -> Void, of owner: AnyObject) {
        state.withLock { $0.listeners[ObjectIdentifier(owner)] = listener }
    }

    func removeListener(of owner: AnyObject) {
        state.withLock { $0.listeners[ObjectIdentifier(owner)] = nil }
    }

    private func tell() { for listener in state.withLock({ Array($0.listeners.values) }) { listener() } }
}
