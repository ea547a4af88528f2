import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// Setting the handler from Swift or with properties, also while data flows.
extension PreprocessorElement {
    /// Sets a handler from Swift, or removes the current one with `nil`. Takes ownership of the structure unless it
    /// throws.
    func attach(_ abi: MGVideoProcessor?) throws(MediaGraphError) {
        guard let abi else { return replace(with: nil) }
        let formats = formatList(loadName(abi.formats))
        let renegotiates = try checkFormats(formats, of: loadName(abi.name))
        replace(with: ProcessorHandle(abi))
        Self.log.log(.info, raw: instance.element, "handler \(loadName(abi.name)) attached")
        if renegotiates { renegotiate() }
    }

    func makeHandler(_ settings: PreprocessorSettings) throws(MediaGraphError) -> ProcessorHandle? {
        guard !settings.handler.isEmpty else { return nil }
        return ProcessorHandle(
            try HandlerRegistry.shared.make(MGVideoProcessor.self, settings.handler, options: settings.options))
    }

    func admit(_ handle: ProcessorHandle) throws(MediaGraphError) -> Bool {
        try checkFormats(handle.formats, of: handle.name)
    }

    func settingsDidChange(_ property: String) {
        if property != "handler", property != "options" { slot.markChanged() }
    }

    /// Returns whether a handler needs other caps than the current ones. Throws if upstream and downstream have no
    /// format in common that the handler supports.
    private func checkFormats(_ formats: [VideoFormat], of handler: String) throws(MediaGraphError) -> Bool {
        guard isRunning, let current = currentCaps else { return false }
        let taken = FrameCaps.of(formats: formats)
        if current.isSubset(of: taken) { return false }
        let (upstream, downstream) = peerCaps
        let given = (upstream ?? .any).intersection(downstream ?? .any)
        guard given.canIntersect(taken) else {
            throw .unsupported(
                .init(
                    "\(name)'s handler \(handler)",
                    actual:
                        "no common format: it accepts \(taken); upstream offers \(upstream ?? current); downstream accepts \(downstream ?? .any)"
                ))
        }
        return true
    }
}
