import GStreamer
import MediaGraphCore

/// A node whose handler may change at any time, from Swift or by the properties `handler` and `options`: the new one takes
/// over between two frames.
protocol HandlerSwapping: InPlaceTransform, ConfigurableElement where Settings: HandlerSettings {
    associatedtype Handle: AnyObject & Sendable
    var slot: HandlerSlot<Handle> { get }
    /// The handler that `handler` names; `nil` for none.
    func makeHandler(_ settings: Settings) throws(MediaGraphError) -> Handle?
    /// Whether a handler needs other caps than flow now; throws where it can't have what it needs.
    func admit(_ handle: Handle) throws(MediaGraphError) -> Bool
}

extension HandlerSwapping {
    static var handlerProperties: [PropertyDeclaration] {
        [
            .setting(
                "handler", of: Self.self, \.handler, changes: .always,
                NodeDefinition.handlerBlurb
                    + ". Changing it while running takes effect between two frames and clears options"),
            .setting(
                "options", of: Self.self, \.options, changes: .always,
                NodeDefinition.optionsBlurb + ". Changing them while running re-creates the handler"),
        ]
    }

    package func couple(_ proposed: inout Settings, changing property: String) throws(PropertyRefused) -> CoupledChange?
    {
        guard property == "handler" || property == "options" else { return nil }
        // Until the node runs, `start` makes the handler of what there is by then. The latest counts, also over one that was
        // attached from Swift.
        guard isRunning else {
            return property == "handler" ? CoupledChange { [slot] in slot.attach(nil) } : nil
        }
        let current = settings.current
        // While a Swift handler is attached, `handler` reads empty. Setting it, even to "" again, replaces that handler.
        let isOther = proposed.handler != current.handler || property == "handler" && slot.isAttached
        guard isOther || property == "options" else { return nil }
        // Options of another handler mean nothing to it.
        let clearsOptions = isOther && !proposed.options.isEmpty
        if isOther { proposed.options = "" }
        do throws(MediaGraphError) {
            let handle = try makeHandler(proposed)
            let renegotiates = if let handle { try admit(handle) } else { false }
            return CoupledChange { [slot] in
                // Options alone don't take the place of a handler from Swift.
                isOther || handle != nil && !slot.isAttached ? slot.setNamed(handle) : nil
            } finish: {
                self.sendUpstream(Resolution.demandChanged)
                if renegotiates { self.renegotiate() }
                if clearsOptions { self.notify("options") }
            }
        } catch {
            throw PropertyRefused("\(error)")
        }
    }

    /// One from Swift takes the place of whatever there was; `nil` takes that away.
    func replace(with handle: Handle?) {
        clearHandlerProperties { slot.attach(handle) }
        // With a handler it needs frames as they are, without one it hides nobody's demand.
        sendUpstream(Resolution.demandChanged)
    }

    /// For `start`: the handler of what the properties say now. Whoever sets one from here on sees a node that runs.
    func startHandler() throws(MediaGraphError) -> Handle? {
        try slot.start { () throws(MediaGraphError) in try makeHandler(settings.update { $0 }) }
    }
}
