import GStreamer
import MediaGraphCore
import Synchronization

/// A source as its node holds it, whichever copy of the code it comes from. Called from one change of state at a time.
protocol SourceHandling: AnyObject, Sendable {
    associatedtype Payload: SentPayload
    var name: String { get }
    /// What may be sent: what it declares itself, or what its node allows.
    func rules(_ node: Payload.Rules) -> Payload.Rules
    /// `downstream` is what can be sent; `nil`: anything.
    func initialize(_ gate: SendGate<Payload>, downstream: Caps?) throws(MediaGraphError)
    /// Downstream asked for a new negotiation, with this outcome.
    func downstreamChanged(_ downstream: Caps?)
    func startSend() throws(MediaGraphError)
    func stopSend()
    func uninitialize()
}

/// A source and the gate that it sends through, from `initialize` to `uninitialize`, whichever element carries them.
final class SourceLifecycle<Handle: SourceHandling>: Sendable {
    private struct State: Sendable {
        /// From Swift: stays for the next run too.
        var attached: Handle?
        /// From `handler=`: made anew for each run.
        var named: Handle?
        var current: Handle? { attached ?? named }
    }

    private let gate: SendGate<Handle.Payload>
    private let state = Mutex(State())

    init(_ gate: SendGate<Handle.Payload>) { self.gate = gate }

    private var isAttached: Bool { state.withLock { $0.attached != nil } }
    var hasSource: Bool { current != nil }
    private var current: Handle? { state.withLock { $0.current } }

    /// In NULL; one that is there isn't replaced. `handler` is the node's property. `make` takes the source over; `nil` takes
    /// it away.
    func attach(
        to name: String, isInNull: Bool, handler: String = "", _ make: (() -> Handle)?
    ) throws(MediaGraphError) {
        guard isInNull else {
            throw .lockedWhileRunning(.init("\(name)'s source", expected: "to be attached before the graph starts"))
        }
        if make != nil {
            guard handler.isEmpty else {
                throw .alreadyInUse(
                    .init(name, actual: "handler=\(handler) is set; clear it before attaching a source from Swift"))
            }
            guard !isAttached else {
                throw .alreadyInUse(.init(name, actual: "a source is already attached; detach it first"))
            }
        }
        let handle = make?()
        // Let go outside the lock: the end of a source may call anything.
        let replaced = state.withLock { state in
            defer { state.attached = handle }
            return state.attached
        }
        withExtendedLifetime(replaced) {}
    }

    /// What `handler=` may be set to.
    func validate(handler: String) throws(PropertyRefused) {
        if !handler.isEmpty, isAttached {
            throw PropertyRefused("a source from Swift is attached; it can have one only")
        }
    }

    /// The element's change of state, with the source's calls around what its parent class does. `initialize` is the element's own,
    /// for NULL→READY.
    func changeState(
        _ change: StateChange, initialize: () throws(MediaGraphError) -> Void, parent: () -> StateChangeResult
    ) throws(MediaGraphError) -> StateChangeResult {
        do throws(MediaGraphError) {
            switch change {
            case .nullToReady: try initialize()
            case .playingToPaused: stopSend()
            default: break
            }
            let result = parent()
            switch change {
            case .nullToReady where result == .failure: uninitialize()
            case .pausedToPlaying where result != .failure: try startSend()
            case .readyToNull: uninitialize()
            default: break
            }
            return result
        } catch {
            if case .nullToReady = change { uninitialize() }
            throw error
        }
    }

    /// The source of `handler=`, for one run.
    func setNamed(_ handler: String, of name: String, _ make: () throws(MediaGraphError) -> Handle)
        throws(MediaGraphError)
    {
        guard !handler.isEmpty else { return }
        guard !isAttached else {
            throw .alreadyInUse(
                .init(name, actual: "a source from Swift is attached; detach it, or clear handler=\(handler)"))
        }
        let handle = try make()
        state.withLock { $0.named = handle }
    }

    /// NULL→READY. `downstream` is what can be sent; `nil`: anything. False where there is no source.
    func initialize(
        _ settings: SendGate<Handle.Payload>.Settings, downstream: Caps?
    ) throws(MediaGraphError) -> Bool {
        let handle = current
        var settings = settings
        if let handle { settings.rules = handle.rules(settings.rules) }
        gate.initialize(settings)
        guard let handle else { return false }
        try handle.initialize(gate, downstream: downstream)
        return true
    }

    /// Downstream asked for a new negotiation.
    func downstreamChanged(_ downstream: Caps?) { current?.downstreamChanged(downstream) }

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
        Handle.Payload.log.log(.info, gate.owner.element, text())
    }
}
