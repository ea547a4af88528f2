import GStreamer

/// What happened, in the place of an element's message that doesn't say it.
enum PlainMessage {
    static func text(of message: Message, _ report: Message.Report) -> String? {
        switch message.kind {
        case .warning: fallback(of: message, report)
        case .error: unreachable(message, report)
        default: nil
        }
    }

    /// What the elements that choose a device do without one that works; each warns in the words of the last that failed.
    private static let fallbacks = [
        "autovideosrc": "no camera works here: a test picture is sent instead",
        "autoaudiosrc": "no microphone works here: silence is sent instead",
        "autovideosink": "no display works here: nothing is shown",
        "autoaudiosink": "no speaker works here: nothing is heard",
    ]

    private static func fallback(of message: Message, _ report: Message.Report) -> String? {
        message.sourceFactory.flatMap { fallbacks[$0] }
            .map { "\($0); `mediagraph doctor` says why (\(report.error.message))" }
    }

    /// All that GStreamer 1.22's HTTP source says of a server that refuses the connection.
    private static let noReason = "streaming stopped, reason error (-5)"

    private static func unreachable(_ message: Message, _ report: Message.Report) -> String? {
        guard report.debug.hasSuffix(noReason), let source = message.source,
            let uri = try? source.property("location", as: String.self), uri.contains("://"),
            // Otherwise the server has answered.
            source.pads.allSatisfy({ !$0.hasSegment })
        else { return nil }
        return "can't read \(uri): check the address, and that its server answers"
    }

    /// Whether a detail only says that something failed.
    static func isUninformative(_ detail: Substring?) -> Bool { detail == noReason[...] }
}
