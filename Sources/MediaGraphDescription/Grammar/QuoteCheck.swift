/// Finds quotes that aren't closed. GStreamer's lexer takes them for ordinary characters and goes on, and what follows makes
/// no sense; here they end with their line, so that the next line is read as it was meant.
enum QuoteCheck {
    struct Outcome {
        var tokens: [Token]
        /// Where the values begin whose quote isn't closed.
        var unclosed: Set<Int> = []
        var problems: [Problem] = []
    }

    /// A text with more quotes that aren't closed is no description; the rest are reported where they stand.
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

    /// The beginning of the first value whose quote isn't closed, or closes what it shouldn't.
    private static func culprit(_ outcome: Outcome, _ bytes: [UInt8]) -> Int? {
        let patterns = LexerPatterns(bytes: bytes, unclosed: outcome.unclosed)
        // The last value before each kind of quote that holds one.
        var suspects: [UInt8: Range<Int>] = [:]
        for token in outcome.tokens {
            switch token.kind {
            case .assignment(_, let value) where !outcome.unclosed.contains(value.lowerBound):
                let first = bytes[value.lowerBound]
                // A value may begin with a quote that closes within a longer word: "a"b. That is GStreamer's syntax.
                if patterns.isQuote(first), patterns.quotedEnd(value.lowerBound) ?? .max > value.upperBound {
                    return value.lowerBound
                }
                for quote in "\"'".utf8 where bytes[value].contains(quote) { suspects[quote] = value }
            case .character(let byte):
                // A quote by itself closed nothing. The value before it took its opening quote for a closing one, or holds
                // one that opened nothing because it isn't at the value's beginning.
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
            place: .expanded(quote..<quote + 1), message: "unbalanced quote",
            hint: quote == value
                ? "this \(mark) isn't closed; for the character itself write \\\(mark)"
                : "quotes go around a whole value; for the character itself write \\\(mark)")
    }
}
