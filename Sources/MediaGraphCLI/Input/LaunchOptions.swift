/// The short options of `gst-launch-1.0`, which its users type here too.
enum LaunchOptions {
    private static let meanings = [
        "-e": "leave it out: Ctrl-C ends the streams and finishes files",
        "-f": "leave it out: there is no fault handler",
        "-v": "use --messages; `mediagraph graph` shows the formats of all links",
    ]

    /// The message about an unknown option, with what does the same here.
    static func explained(_ message: String) -> String {
        guard let match = message.firstMatch(of: /Unknown option '(-[a-z])'/), let meaning = meanings[String(match.1)]
        else { return message }
        return message.replacing(match.0, with: "\(match.0); \(meaning)", maxReplacements: 1)
    }
}
