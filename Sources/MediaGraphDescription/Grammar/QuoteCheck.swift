/// Finds unclosed quotes. GStreamer's lexer treats them as ordinary characters, and misreads everything after them. Here,
/// an unclosed quote ends with its line, so that the next line is read as intended.
enum QuoteCheck {
    struct Outcome {
        var tokens: [Token]
        /// The offsets at which values with an unclosed quote begin.
        var unclosed: Set<Int> = []
        var problems: [Problem] = []
    }

    /// The limit for unclosed quotes. A text with more isn't a description; the parser reports further quotes as
    /// unexpected characters.
    private static let maximumRounds = 20

    static func run(_ bytes: [UInt8]) -> Outcome {
        var outcome = Outcome(tokens: Lexer.tokens(of: bytes))
        while outcome.unclosed.count < maximumRounds, let value = culprit(outcome, bytes) {
            outcome.unclosed.insert(value)
            outcome.tokens = Lexer.tokens(of: bytes, unclosed: outcome.unclosed)
        }
        outcome.problems = outcome.unclosed.sorted().map { problem(inValueAt: $0, bytes) }
        return outcome
    }

    /// Returns the beginning of the first value whose quote isn't closed, or closes in the wrong place.
    private static func culprit(_ outcome: Outcome, _ bytes: [UInt8]) -> Int? {
        let patterns = LexerPatterns(bytes: bytes, unclosed: outcome.unclosed)
        // For each kind of quote, the last value that contains one.
        var suspects: [UInt8: Range<Int>] = [:]
        for token in outcome.tokens {
            switch token.kind {
            case .assignment(_, let value) where !outcome.unclosed.contains(value.lowerBound):
                let first = bytes[value.lowerBound]
                // GStreamer's syntax allows a quote that closes within a longer word, as in "a"b.
                if patterns.isQuote(first), patterns.quotedEnd(value.lowerBound) ?? .max > value.upperBound {
                    return value.lowerBound
                }
                for quote in "\"'".utf8 where bytes[value].contains(quote) { suspects[quote] = value }
            case .character(let byte):
                // A stray quote. Either an earlier value was closed by this quote's partner, or that value contains a
                // quote that isn't at its beginning.
                guard let value = suspects[byte] else { continue }
                let newline = UInt8(ascii: "\n")
                if bytes[value].contains(newline) || !bytes[value.upperBound..<token.range.lowerBound].contains(newline)
                {
                    return value.lowerBound
                }
            default: break
            }
        }
        return nil
    }

    private static func problem(inValueAt value: Int, _ bytes: [UInt8]) -> Problem {
        let quote = bytes[value...].firstIndex { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "'") } ?? value
        let mark = Unicode.Scalar(bytes[quote])
        return Problem(
            place: .expanded(quote..<quote + 1),
            message: quote == value ? "this quote isn't closed" : "a quote must enclose the whole value",
            hint: quote == value
                ? "close it with \(mark) after the value; if the character is part of the value, write \\\(mark)"
                : "write \(mark) before and after the value; if the character is part of the value, write \\\(mark)")
    }
}
