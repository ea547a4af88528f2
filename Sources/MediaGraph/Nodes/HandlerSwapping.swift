import GStreamer

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
                    + ". While running the new one takes over between two frames, and options becomes empty"),
            .setting(
                "options", of: Self.self, \.options, changes: .always,
                NodeDefinition.optionsBlurb + ". While running the handler is made anew with them"),
        ]
    }

    func validate(_ proposed: Settings, changing property: String) throws(PropertyRefused) {
        // Until the node runs, `start` makes the handler of what there is by then.
        guard isRunning, property == "handler" || property == "options" else { return }
        var proposed = proposed
        let isOther = proposed.handler != settings.current.handler
        // Options of another handler mean nothing to it.
        if isOther { proposed.options = "" }
        do throws(MediaGraphError) {
            let handle = try makeHandler(proposed)
            let renegotiates = if let handle { try admit(handle) } else { false }
            // Options alone don't take the place of a handler from Swift.
            if isOther || handle != nil && !slot.isAttached { slot.setNamed(handle) }
            if renegotiates { renegotiate() }
        } catch {
            throw PropertyRefused("\(error)")
        }
        if isOther, !settings.current.options.isEmpty {
            settings.update { $0.options = "" }
            notify("options")
        }
    }

    /// For `settingsDidChange`. The latest counts, also over one that was attached from Swift.
    func handlerDidChange(_ property: String) {
        if property == "handler", !isRunning { slot.attach(nil) }
    }
}
