import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// The handler of a `virtualspeaker`, attached from Swift or named.
extension VirtualSpeakerElement {
    /// `nil` takes the handler away.
    func attach(_ abi: MGAudioConsumer?) throws(MediaGraphError) {
        guard !isRunning else {
            throw .lockedWhileRunning(.init("\(name)'s handler", expected: "to be attached before the graph runs"))
        }
        guard let abi else {
            // Let go outside the lock: the end of a handler may call anything.
            let replaced = state.withLock { state in
                defer { state.attached = nil }
                return state.attached
            }
            withExtendedLifetime(replaced) {}
            return
        }
        try checkMemoryMode(abi.memory_mode == 0 ? nil : MemoryMode(rawValue: abi.memory_mode - 1))
        guard settings.current.handler.isEmpty, state.withLock({ $0.current == nil }) else {
            throw .alreadyInUse(.init(name, expected: "one handler", actual: "a second"))
        }
        let handle = AudioConsumerHandle(abi)
        handle.registered(at: instance)
        state.withLock { $0.attached = handle }
    }

    private func checkMemoryMode(_ required: MemoryMode?) throws(MediaGraphError) {
        guard required == .stack, settings.current.memoryMode == .heap else { return }
        throw .invalidParameter(
            .init("\(name)'s memory-mode", expected: "stack, for a handler that borrows blocks", actual: "heap"))
    }

    func makeHandler() throws(MediaGraphError) {
        let settings = settings.current
        // The property may have been set since.
        try checkMemoryMode(state.withLock { $0.attached }?.memoryMode)
        guard !settings.handler.isEmpty else { return }
        guard state.withLock({ $0.attached == nil }) else {
            throw .alreadyInUse(
                .init(name, expected: "one handler", actual: "handler=\(settings.handler) beside one from Swift"))
        }
        let handle = AudioConsumerHandle(
            try HandlerRegistry.shared.make(MGAudioConsumer.self, settings.handler, options: settings.options))
        if let mode = handle.memoryMode, mode != settings.memoryMode {
            throw .invalidParameter(
                .init(
                    "memory-mode", expected: "\(mode.nick), for handler \(handle.name)",
                    actual: settings.memoryMode.nick))
        }
        handle.registered(at: instance)
        state.withLock { $0.named = handle }
    }
}
