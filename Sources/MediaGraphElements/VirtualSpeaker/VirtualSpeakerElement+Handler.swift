import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// The handler of a `virtualspeaker`, attached from Swift or named by the property `handler`.
extension VirtualSpeakerElement {
    /// Attaches a handler; `nil` removes the attached handler.
    func attach(_ abi: MGAudioConsumer?) throws(MediaGraphError) {
        guard !isRunning else {
            throw .lockedWhileRunning(
                .init(
                    "\(name)'s handler",
                    actual: "can't be attached or detached while the graph runs; stop the graph first"))
        }
        guard let abi else {
            // Released outside the lock: a handler's `deinit` may call anything.
            _ = state.withLock { $0.attached.take() }
            return
        }
        try checkMemoryMode(queues: abi.queues != 0)
        guard settings.current.handler.isEmpty, state.withLock({ $0.current == nil }) else {
            throw .alreadyInUse(.init(name, actual: "already has a handler; remove it first"))
        }
        let handle = AudioConsumerHandle(abi)
        handle.registered(at: instance)
        state.withLock { $0.attached = handle }
    }

    func settingsDidChange(_ property: String) {
        if property == "on-error" { delivery.failurePolicy = settings.current.onError }
    }

    private func checkMemoryMode(queues: Bool) throws(MediaGraphError) {
        try settings.current.memoryMode.check(queues: queues, of: name, sequence: "a sequence of blocks")
    }

    /// Makes the handler that the property `handler` names, in NULL→READY. Does nothing if the property is empty.
    func makeHandler() throws(MediaGraphError) {
        let settings = settings.current
        // `memory-mode` may have been set after the handler was attached.
        try checkMemoryMode(queues: state.withLock { $0.attached?.queues } == true)
        guard !settings.handler.isEmpty else { return }
        guard state.withLock({ $0.attached == nil }) else {
            throw .alreadyInUse(
                .init(
                    name,
                    actual: "a handler from Swift is attached; remove it, or clear handler=\(settings.handler)"))
        }
        let handle = AudioConsumerHandle(
            try HandlerRegistry.shared.make(MGAudioConsumer.self, settings.handler, options: settings.options))
        handle.registered(at: instance)
        state.withLock { $0.named = handle }
    }
}
