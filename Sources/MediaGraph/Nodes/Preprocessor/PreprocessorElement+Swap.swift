import CMediaGraphABI
import GStreamer

/// A handler's change while data flows, from Swift or by properties.
extension PreprocessorElement {
    /// Gives the node a handler from Swift, or takes away what it has. The structure is taken over unless this throws.
    func attach(_ abi: MGVideoProcessor?) throws(MediaGraphError) {
        guard let abi else {
            slot.attach(nil)
            return clearHandlerProperties()
        }
        let formats = formatList(loadName(abi.formats))
        let renegotiates = try checkFormats(formats, of: loadName(abi.name))
        slot.attach(ProcessorHandle(abi))
        clearHandlerProperties()
        Self.log.log(.info, raw: instance.element, "handler \(loadName(abi.name)) attached")
        if renegotiates { renegotiate() }
    }

    func validate(_ proposed: PreprocessorSettings, changing property: String) throws(PropertyRefused) {
        // Until the node runs, `start` makes the handler of what there is by then.
        guard isRunning, property == "handler" || property == "options" else { return }
        var proposed = proposed
        let isOther = proposed.handler != settings.current.handler
        // Options of another handler mean nothing to it.
        if isOther { proposed.options = "" }
        do throws(MediaGraphError) {
            let handle = try Self.makeHandler(proposed)
            let renegotiates = try handle.map { handle throws(MediaGraphError) in
                try checkFormats(handle.formats, of: handle.name)
            }
            // Options alone don't take the place of a handler from Swift.
            if isOther || handle != nil && !slot.isAttached { slot.setNamed(handle) }
            if renegotiates == true { renegotiate() }
        } catch {
            throw PropertyRefused("\(error)")
        }
        if isOther, !settings.current.options.isEmpty {
            settings.update { $0.options = "" }
            notify("options")
        }
    }

    func settingsDidChange(_ property: String) {
        if property != "handler", property != "options" { slot.markChanged() }
        // The latest counts, also over one that was attached from Swift.
        if property == "handler", !isRunning { slot.attach(nil) }
    }

    /// Whether a handler needs other caps than there are; throws when the two sides of the node can't agree on any.
    private func checkFormats(_ formats: [VideoFormat], of handler: String) throws(MediaGraphError) -> Bool {
        guard isRunning, let current = currentCaps else { return false }
        let taken = NodeDefinition.caps(formats: formats)
        if current.isSubset(of: taken) { return false }
        let (upstream, downstream) = peerCaps
        let given = (upstream ?? .any).intersection(downstream ?? .any)
        guard given.canIntersect(taken) else {
            throw .unsupported(
                .init(
                    "\(name)'s handler \(handler)", expected: "a format that it takes: \(taken)",
                    actual: "\(upstream ?? current) from upstream and \(downstream ?? .any) wanted downstream"))
        }
        return true
    }
}
