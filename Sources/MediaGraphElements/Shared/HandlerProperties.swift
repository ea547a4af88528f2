import GStreamer

/// Settings of a node with the properties `handler` and `options`.
protocol HandlerSettings: Sendable {
    var handler: String { get set }
    var options: String { get set }
}

extension ConfigurableElement where Settings: HandlerSettings {
    /// What `handler` names isn't there any more, and doesn't come back with the next run: both properties read empty.
    /// Together with that `replace` runs, under the settings' lock, and returns what is to be let go.
    func clearHandlerProperties(_ replace: () -> (any Sendable)? = { nil }) {
        let (before, replaced) = settings.update { settings in
            let before = settings
            settings.handler = ""
            settings.options = ""
            return (before, replace())
        }
        withExtendedLifetime(replaced) {}
        // Whoever listens may read them.
        if !before.handler.isEmpty { notify("handler") }
        if !before.options.isEmpty { notify("options") }
    }
}
