import GStreamer
import MediaGraphCore
import Synchronization

/// A node's handle to its source, which may come from another copy of this code. State changes call it one at a time.
protocol SourceHandling: AnyObject, Sendable {
    associatedtype Payload: SentPayload
    var name: String { get }
    /// Returns what may be sent: the source's own declarations, or the node's rules.
    func rules(_ node: Payload.Rules) -> Payload.Rules
    /// Called in NULL→READY.
    func initialize(_ gate: SendGate<Payload>, downstream: DownstreamConstraints) throws(MediaGraphError)
    /// Called when downstream asked for a new negotiation, or wants another size.
    func downstreamChanged(_ downstream: DownstreamConstraints)
    func startSend() throws(MediaGraphError)
    func stopSend()
    func uninitialize()
    /// Makes the handle no longer own the source.
    func disown()
}

/// Drives a source and its gate from `initialize` to `uninitialize`, for any source element.
final class SourceLifecycle<Handle: SourceHandling>: Sendable {
    private struct State: Sendable {
        /// The source attached from Swift. Kept across runs.
        var attached: Handle?
        /// The source that `handler=` names. Made for each run.
        var named: Handle?
        var current: Handle? { attached ?? named }

        /// Whether the element is in PLAYING.
        var isPlaying = false
        /// Whether downstream has asked the source to stop sending until further notice.
        var isMuted = false
        /// Whether the source couldn't start when downstream asked it to. The next change tries again.
        var hasFailed = false
        /// Whether the source sends: between `startSend` and `stopSend`.
        var isSending = false
        /// The thread that is calling `startSend` or `stopSend`.
        var caller: UInt?

        /// Returns whether to call `startSend` (true) or `stopSend` (false) next; `nil` if neither is due, and then no
        /// thread is the caller any more.
        mutating func nextCall() -> Bool? {
            let sends = isPlaying && !isMuted && !hasFailed
            guard sends != isSending else {
                caller = nil
                return nil
            }
            isSending = sends
            return sends
        }
    }

    private let gate: SendGate<Handle.Payload>
    private let state = BlockingMonitor(State())

    init(_ gate: SendGate<Handle.Payload>) { self.gate = gate }

    private var isAttached: Bool { state.withLock { $0.attached != nil } }
    var hasSource: Bool { current != nil }
    private var current: Handle? { state.withLock { $0.current } }

    /// Attaches the source that `make` returns; with `nil` detaches the current one.
    ///
    /// The node must be in NULL. An attached source isn't replaced: throws `alreadyInUse` then, and also if `handler`,
    /// the node's property, is set.
    func attach(
        to name: String, isInNull: Bool, handler: String = "", _ make: (() -> Handle)?
    ) throws(MediaGraphError) {
        guard isInNull else {
            throw .lockedWhileRunning(
                .init(
                    "\(name)'s source",
                    actual: "can't be attached or detached while the graph runs; stop the graph first"))
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
        // Release the old source outside the lock: its deinitializer may run any code.
        let replaced = state.withLock { state in
            defer { state.attached = handle }
            return state.attached
        }
        withExtendedLifetime(replaced) {}
    }

    /// Detaches the attached source without destroying it. The node must be in NULL.
    func returnSource() {
        let source = state.withLock { $0.attached.take() }
        source?.disown()
    }

    /// Throws if `handler=` is set while a source is attached from Swift.
    func validate(handler: String) throws(PropertyRefused) {
        if !handler.isEmpty, isAttached {
            throw PropertyRefused("a source from Swift is attached; detach it first")
        }
    }

    /// Runs the element's state change and calls the source before or after it. `parent` is the parent class's state
    /// change. `initialize` is the element's own initialization, for NULL→READY.
    func changeState(
        _ change: StateChange, initialize: () throws(MediaGraphError) -> Void, parent: () -> StateChangeResult
    ) throws(MediaGraphError) -> StateChangeResult {
        do throws(MediaGraphError) {
            switch change {
            case .nullToReady: try initialize()
            case .playingToPaused: try stopSend()
            default: break
            }
            let result = parent()
            switch change {
            case .nullToReady where result == .failure: uninitialize()
            case .pausedToPlaying where result != .failure: try startSend()
            case .pausedToReady: try update { $0.isMuted = false }
            case .readyToNull: uninitialize()
            default: break
            }
            return result
        } catch {
            if case .nullToReady = change { uninitialize() }
            throw error
        }
    }

    /// Makes the source that `handler=` names, for one run. Does nothing if `handler` is empty.
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

    /// Initializes the gate and the source, in NULL→READY. Returns false if there is no source.
    func initialize(
        _ settings: SendGate<Handle.Payload>.Settings, downstream: DownstreamConstraints
    ) throws(MediaGraphError) -> Bool {
        let handle = current
        var settings = settings
        if let handle { settings.rules = handle.rules(settings.rules) }
        gate.initialize(settings)
        guard let handle else { return false }
        try handle.initialize(gate, downstream: downstream)
        return true
    }

    /// Called when downstream asked for a new negotiation, or wants another size.
    func downstreamChanged(_ downstream: DownstreamConstraints) { current?.downstreamChanged(downstream) }

    /// Starts the source, after PAUSED→PLAYING, unless downstream has asked it not to send.
    func startSend() throws(MediaGraphError) { try update { $0.isPlaying = true } }

    /// Stops the source, before PLAYING→PAUSED. Then waits for what was sent before, unless the sinks have stopped: the
    /// pipeline changes their states first, and from then on a sink holds the first frame that reaches it.
    func stopSend() throws(MediaGraphError) {
        try update { $0.isPlaying = false }
        guard hasSource else { return }
        switch gate.drain(keepsQueue: isBehindStoppedSinks) {
        case .complete: log("stopped")
        case .held: log("stopped; downstream holds a buffer, so nothing follows it")
        case .stalled: log("stopped; downstream has stalled, so nothing follows")
        }
    }

    private var isBehindStoppedSinks: Bool { gate.owner.element?.isInStoppingPipeline ?? false }

    /// Stops the source until further notice, or starts it again, if `structure` asks for that. Called at any time, on
    /// any thread, even the streaming thread, so nothing waits for what was sent before. If the source can't start
    /// again, posts its error.
    func received(_ structure: Structure) {
        guard let isOn = SendRequest.isOn(structure) else { return }
        do throws(MediaGraphError) { try update(isRequest: true) { $0.isMuted = !isOn } } catch {
            gate.owner.postError(.settings, "\(gate.owner.name): \(error)")
        }
    }

    /// Changes the state with `body`, and calls `startSend` or `stopSend` if the source must now start or stop sending.
    ///
    /// One thread at a time calls the source; others wait. If the source itself causes a change during such a call, the
    /// state changes at once, and the source is called again after it has returned. No lock is held while the source is
    /// called.
    private func update(isRequest: Bool = false, _ body: (inout State) -> Void) throws(MediaGraphError) {
        let thread = currentThreadID()
        let isCaller = state.wait { state -> Bool? in
            guard state.caller == nil || state.caller == thread else { return nil }
            state.hasFailed = false
            body(&state)
            gate.isMuted.store(state.isMuted, ordering: .releasing)
            defer { state.caller = thread }
            return state.caller == nil
        }
        guard isCaller == true else { return }
        // A device that waits for the gate to open drops its sound while muted.
        gate.wake()
        while let starts = state.withLock({ $0.nextCall() }) {
            guard let handle = current else { continue }
            guard starts else {
                // The source is told at the moment when the gate closes.
                gate.close(
                    keepsQueue: isBehindStoppedSinks, isRequested: state.withLock { $0.isPlaying && $0.isMuted })
                handle.stopSend()
                continue
            }
            gate.open()
            do throws(MediaGraphError) { try handle.startSend() } catch {
                gate.close()
                _ = gate.drain()
                // If a state change has failed, until the element goes to PLAYING again. After a request, the element
                // plays on, and the next request tries again.
                state.withLock { state in
                    if isRequest { state.hasFailed = true } else { state.isPlaying = false }
                    (state.isSending, state.caller) = (false, nil)
                }
                throw error
            }
            gate.startSendReturned()
            log("sending")
        }
    }

    /// Uninitializes the gate and the source, after READY→NULL.
    func uninitialize() {
        gate.uninitialize()
        let handle = state.withLock { state in
            defer { (state.named, state.isMuted) = (nil, false) }
            return state.current
        }
        gate.isMuted.store(false, ordering: .releasing)
        handle?.uninitialize()
    }

    private func log(_ text: @autoclosure () -> String) {
        Handle.Payload.log.log(.info, gate.owner.element, text())
    }
}
