/// A whole command where a description belongs, as it stands in a tutorial: `gst-launch-1.0 -e videotestsrc ! \`.
enum ShellCommand {
    /// `nil` for a description.
    static func problem(in text: String) -> Problem? {
        let command =
            /\s*(?:[$#>]\s+)?(?:[A-Z_]+=\S*\s+)*(?<program>\S*gst-launch(?:-1\.0)?|mediagraph\s+(?:run|check|graph))(?<options>(?:\s+-[-\w]+(?:=\S*)?)*)\s/
        guard let match = text.prefixMatch(of: command) else { return nil }
        let start = text.utf8.distance(from: text.startIndex, to: match.program.startIndex)
        let end = text.utf8.distance(from: text.startIndex, to: match.options.endIndex)
        let words = (match.program + match.options).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let quotes = text.contains { $0 == "'" || $0 == "\"" } ? ", and the quotes that only the shell needs" : ""
        return Problem(
            place: .expanded(start..<end), message: "this is a shell command; a description begins behind its options",
            hint: "leave out `\(words)`\(quotes)")
    }
}
