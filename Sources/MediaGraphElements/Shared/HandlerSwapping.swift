import GStreamer
import MediaGraphCore

/// A node whose handler may change at any time, from Swift or by the properties `handler` and `options`. The new
/// handler takes over between two frames.
protocol HandlerSwapping: InPlaceTransform, ConfigurableElement where Settings: HandlerSettings {
    associatedtype Handle: AnyObject & Sendable
    var slot: HandlerSlot<Handle> { get }
    /// Makes the handler that `handler` names; returns `nil` if `handler` is empty.
    func makeHandler(_ settings: Settings) throws(MediaGraphError) -> Handle?
    /// Returns whether the handler needs other caps than the current ones. Throws if the node can't provide the caps
    /// that the handler needs.
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
        // While the node isn't running, the change only takes effect in `start`, which makes the handler from the
        // settings of that time. The last change wins, so setting `handler` also replaces a handler that was attached
        // from Swift.
        guard isRunning else {
            return property == "handler" ? CoupledChange { [slot] in slot.attach(nil) } : nil
        }
        let current = settings.current
        // While a Swift handler is attached, `handler` reads empty. Setting it, even to "" again, replaces that
        // handler.
        let isOther = proposed.handler != current.handler || property == "handler" && slot.isAttached
        guard isOther || property == "options" else { return nil }
        // The new handler can't use the options of the previous one.
        let clearsOptions = isOther && !proposed.options.isEmpty
        if isOther { proposed.options = "" }
        do throws(MediaGraphError) {
            let handle = try makeHandler(proposed)
            let renegotiates = if let handle { try admit(handle) } else { false }
            return CoupledChange { [slot] in
                // Setting only `options` doesn't replace a handler from Swift.
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

    /// Replaces the current handler with one from Swift; `nil` removes the current handler.
    func replace(with handle: Handle?) {
        clearHandlerProperties { slot.attach(handle) }
        // The node's demand on the resolution has changed: a handler needs frames as they are, and without a handler
        // the node passes on the demand of the elements downstream.
        sendUpstream(Resolution.demandChanged)
    }

    /// Takes a handler that has failed away until the next run. Called on the streaming thread.
    func detach(_ handle: Handle) {
        slot.detach(handle)
        sendUpstream(Resolution.demandChanged)
    }

    /// Makes the handler that the properties name now. Call it from `start`: later changes of the properties find a
    /// running node.
    func startHandler() throws(MediaGraphError) -> Handle? {
        try slot.start { () throws(MediaGraphError) in try makeHandler(settings.update { $0 }) }
    }
}
