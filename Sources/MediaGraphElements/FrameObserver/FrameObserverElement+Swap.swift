import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// Setting the observer from Swift or with properties, also while data flows.
extension FrameObserverElement {
    /// Sets an observer from Swift, or removes the current one with `nil`. Takes ownership of the structure unless it
    /// throws.
    func attach(_ abi: MGFrameObserver?) throws(MediaGraphError) {
        guard let abi else { return replace(with: nil) }
        try check(abi.edits != 0 ? .readWrite : .readOnly, of: loadName(abi.name))
        try checkFormat()
        let handle = ObserverHandle(abi)
        handle.registered(at: instance)
        replace(with: handle)
        Self.log.log(.info, raw: instance.element, "observer \(handle.name) attached, \(handle.mode.nick)")
    }

    func makeHandler(_ settings: FrameObserverSettings) throws(MediaGraphError) -> ObserverHandle? {
        guard !settings.handler.isEmpty else { return nil }
        let handle = ObserverHandle(
            try HandlerRegistry.shared.make(MGFrameObserver.self, settings.handler, options: settings.options))
        handle.registered(at: instance)
        return handle
    }

    func admit(_ handle: ObserverHandle) throws(MediaGraphError) -> Bool {
        try check(handle.mode, of: handle.name)
        try checkFormat()
        return false
    }

    func check(_ mode: ObserverMode, of observer: String) throws(MediaGraphError) {
        let set = settings.current.mode
        guard mode == set else {
            throw .invalidParameter(
                .init("\(name)'s mode", expected: "\(mode.nick) for observer \(observer)", actual: set.nick))
        }
    }

    /// Throws if frames with the current caps can't be converted for an observer.
    private func checkFormat() throws(MediaGraphError) {
        guard isRunning, let current = currentCaps, !Self.takes(current) else { return }
        throw .unsupported(
            .init("\(name)'s observer", expected: "\(Self.readableCaps)", actual: "\(current) from upstream"))
    }

    func settingsDidChange(_ property: String) {
        if property == "on-error" { onError.store(settings.current.onError.rawValue, ordering: .relaxed) }
    }
}
