import GStreamer

/// Settings of a node with the properties `handler` and `options`.
protocol HandlerSettings: Sendable {
    var handler: String { get set }
    var options: String { get set }
}

extension ConfigurableElement where Settings: HandlerSettings {
    /// What `handler` names isn't there any more, and doesn't come back with the next run: both properties read empty.
    func clearHandlerProperties() {
        let before = settings.update { settings in
            let before = settings
            settings.handler = ""
            settings.options = ""
            return before
        }
        // Whoever listens may read them.
        if !before.handler.isEmpty { notify("handler") }
        if !before.options.isEmpty { notify("options") }
    }
}
