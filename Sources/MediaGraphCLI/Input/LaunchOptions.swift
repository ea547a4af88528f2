/// Explains the short options of `gst-launch-1.0`, which its users may type here too.
enum LaunchOptions {
    private static let replacements = [
        "-e": "leave it out: Ctrl-C ends the streams and finishes files",
        "-f": "leave it out: there is no fault handler",
        "-v": "use --messages; `mediagraph graph` shows the formats of all links",
    ]

    /// Adds the replacement of a `gst-launch-1.0` option to argument-parser's message about an unknown option.
    static func explained(_ message: String) -> String {
        guard let match = message.firstMatch(of: /Unknown option '(-[a-z])'/),
            let replacement = replacements[String(match.1)]
        else { return message }
        return message.replacing(match.0, with: "\(match.0); \(replacement)", maxReplacements: 1)
    }
}
