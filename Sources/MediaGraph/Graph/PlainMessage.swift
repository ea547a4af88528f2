import GStreamer

/// Messages that replace those of stock elements which don't say what happened.
enum PlainMessage {
    /// Returns the replacement for a message's text; `nil` if the text is good enough.
    static func text(of message: Message, _ report: Message.Report) -> String? {
        switch message.kind {
        case .warning: fallback(of: message, report)
        case .error: unreachable(message, report)
        default: nil
        }
    }

    /// What the elements that choose a device do when no device works. Their own warnings only repeat the last device's
    /// error.
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

    /// The only reason that GStreamer 1.22's HTTP source gives when a server refuses the connection.
    private static let noReason = "streaming stopped, reason error (-5)"

    private static func unreachable(_ message: Message, _ report: Message.Report) -> String? {
        guard report.debug.hasSuffix(noReason), let source = message.source,
            let uri = try? source.property("location", as: String.self), uri.contains("://"),
            // With a segment, the server has answered, and the error is another one.
            source.pads.allSatisfy({ !$0.hasSegment })
        else { return nil }
        return "can't read \(uri): check the address, and that its server answers"
    }

    /// Returns whether an error's detail adds nothing to the error.
    static func isUninformative(_ detail: Substring?) -> Bool { detail == noReason[...] }
}
