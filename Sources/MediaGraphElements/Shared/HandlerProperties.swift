import GStreamer

/// Settings of a node with the properties `handler` and `options`.
protocol HandlerSettings: Sendable {
    var handler: String { get set }
    var options: String { get set }
}

extension ConfigurableElement where Settings: HandlerSettings {
    /// Clears `handler` and `options`, so that the next run doesn't make the named handler again. Runs `replace` under the
    /// same settings lock and releases its result after unlocking.
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
