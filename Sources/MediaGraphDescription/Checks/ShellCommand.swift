import GStreamer

/// Finds shell commands in place of a description, as copied from a tutorial: `gst-launch-1.0 -e videotestsrc ! \`.
package enum ShellCommand {
    /// Returns whether a word is the program of a pasted command.
    package static func isProgram(_ word: Substring) -> Bool {
        let name = word.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last ?? word
        return name.prefixMatch(of: /gst-launch(-1\.0)?(\.exe)?$/) != nil
    }

    /// Returns whether a text is a pasted command with environment variables before it: `GST_DEBUG=3 gst-launch-1.0 …`.
    package static func followsVariables(_ text: String) -> Bool {
        let words = text.split(whereSeparator: \.isWhitespace)
        let before = wordsBeforeProgram(words)
        return before > 0 && before < words.count && isProgram(words[before])
    }

    /// Returns the problem of a text that is a shell command; `nil` for a description.
    static func problem(in text: String) -> Problem? {
        let all = text.split(whereSeparator: \.isWhitespace)
        let before = wordsBeforeProgram(all)
        var words = all[before...]
        guard let program = words.popFirst() else { return nil }
        var end = program.endIndex
        if !isProgram(program) {
            guard program.split(separator: "/").last == "mediagraph", let subcommand = words.popFirst(),
                ["run", "check", "graph"].contains(subcommand)
            else { return nil }
            end = subcommand.endIndex
        }
        var mayBeValue = false
        while let word = words.first {
            // Some web pages show a hyphen as a dash: "–v".
            let isOption = word.count > 1 && ["-", "–", "—", "−"].contains(word.first)
            guard isOption || mayBeValue && isValue(word, before: words.dropFirst().first) else { break }
            mayBeValue = isOption && !word.contains("=")
            end = word.endIndex
            words.removeFirst()
        }
        // Without further words, the text may be a file's name.
        guard !words.isEmpty else { return nil }
        let range = all[0].startIndex..<end
        let left = text[range].split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let quotes = text.contains { $0 == "'" || $0 == "\"" } ? ", and the quotes that only the shell needs" : ""
        let variables = all[..<before].filter(isVariable).joined(separator: " ")
        let moved = variables.isEmpty ? "" : "; \(variables) goes before `mediagraph`"
        let offsets = [range.lowerBound, range.upperBound].map { text.utf8.distance(from: text.startIndex, to: $0) }
        return Problem(
            place: .expanded(offsets[0]..<offsets[1]),
            message: "this is a shell command; keep only what follows its options",
            hint: "leave out `\(left)`\(quotes)\(moved)")
    }

    /// Returns the number of words before the program: a prompt, `sudo` and the like with options, and variables.
    private static func wordsBeforeProgram(_ words: [Substring]) -> Int {
        var runsProgram = false
        return words.prefix { word in
            if word.hasPrefix("-") { return runsProgram }
            runsProgram = ["sudo", "env", "time", "nice"].contains(word)
            return runsProgram || ["$", ">", "%"].contains(word) || isVariable(word)
        }.count
    }

    private static func isVariable(_ word: Substring) -> Bool {
        word.prefixMatch(of: /[A-Za-z_][A-Za-z0-9_]*=/) != nil
    }

    /// Returns whether the word is an option's value rather than the first element of the description.
    private static func isValue(_ word: Substring, before next: Substring?) -> Bool {
        guard ElementFactoryInfo.find(String(word)) == nil, let next else { return false }
        return next != "!" && !next.contains("=")
    }
}
