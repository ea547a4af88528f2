import CMediaGraphABI
import GStreamer
import Synchronization

/// A source and the gate that it sends through, from `initialize` to `uninitialize`, whichever element carries them.
final class SourceLifecycle: Sendable {
    private struct State: Sendable {
        /// From Swift: stays for the next run too.
        var attached: SourceHandle?
        /// From `handler=`: made anew for each run.
        var named: SourceHandle?
        var current: SourceHandle? { attached ?? named }
        var announced: SupportedCapabilities?
    }

    let gate: VideoGate
    private let state = Mutex(State())

    init(_ gate: VideoGate) { self.gate = gate }

    var isAttached: Bool { state.withLock { $0.attached != nil } }
    private var current: SourceHandle? { state.withLock { $0.current } }

    /// `nil` takes the source away.
    func attach(_ handle: SourceHandle?) {
        // Let go outside the lock: the end of a source may call anything.
        let replaced = state.withLock { state in
            defer { state.attached = handle }
            return state.attached
        }
        withExtendedLifetime(replaced) {}
    }

    func setNamed(_ handle: SourceHandle) { state.withLock { $0.named = handle } }

    /// NULL→READY. `downstream` is what can be sent; `nil`: anything. False where there is no source.
    func initialize(_ settings: VideoGate.Settings, downstream: Caps?) throws(MediaGraphError) -> Bool {
        let handle = current
        var settings = settings
        settings.declared = handle?.capabilities ?? []
        gate.initialize(settings)
        guard let handle else { return false }
        let supported = SupportedCapabilities(declared: settings.declared, downstream: downstream)
        state.withLock { $0.announced = supported }
        log(
            "handler \(handle.name): \(supported.list.count) capabilities, suggested \(supported.suggested.map(String.init(describing:)) ?? "none")"
        )
        try handle.initialize(MGVideoSender(gate), supported)
        return true
    }

    /// Downstream asked for a new negotiation: the source is told when the outcome differs.
    func announceCapabilities(downstream: Caps?) {
        guard let handle = current else { return }
        let supported = SupportedCapabilities(declared: handle.capabilities, downstream: downstream)
        guard
            state.withLock({ state in
                defer { state.announced = supported }
                return state.announced != supported
            })
        else { return }
        log("property change: \(supported.list.count) capabilities")
        handle.propertyChange(supported)
    }

    /// PLAYING.
    func startSend() throws(MediaGraphError) {
        guard let handle = current else { return }
        gate.open()
        do throws(MediaGraphError) { try handle.startSend() } catch {
            gate.close()
            throw error
        }
        gate.startSendReturned()
        log("sending")
    }

    /// Out of PLAYING.
    func stopSend() {
        guard let handle = current else { return }
        gate.close()
        handle.stopSend()
        log("stopped")
    }

    /// READY→NULL.
    func uninitialize() {
        gate.uninitialize()
        let handle = state.withLock { state in
            defer { state.named = nil }
            return state.current
        }
        handle?.uninitialize()
    }

    private func log(_ text: @autoclosure () -> String) {
        VideoSourceElement.log.log(.info, gate.owner.element, text())
    }
}
