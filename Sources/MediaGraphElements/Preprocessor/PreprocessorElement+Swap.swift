import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A handler's change while data flows, from Swift or by properties.
extension PreprocessorElement {
    /// Gives the node a handler from Swift, or takes away what it has. The structure is taken over unless this throws.
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

    /// Whether a handler needs other caps than there are; throws when the two sides of the node can't agree on any.
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
                        "no common format: it takes \(taken), upstream offers \(upstream ?? current), downstream accepts \(downstream ?? .any)"
                ))
        }
        return true
    }
}
