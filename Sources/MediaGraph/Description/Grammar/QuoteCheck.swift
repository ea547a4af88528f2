/// Finds quotes that aren't closed. GStreamer's lexer takes them for ordinary characters and goes on, and what follows makes
/// no sense; here they end with their line, so that the next line is read as it was meant.
enum QuoteCheck {
    struct Outcome {
        var tokens: [Token]
        /// Where the values begin whose quote isn't closed.
        var unclosed: Set<Int> = []
        var problems: [Problem] = []
    }

    static func run(_ bytes: [UInt8]) -> Outcome {
        var outcome = Outcome(tokens: Lexer.tokens(of: bytes))
        // Each round ends one more quote with its line, and there are finitely many.
        while let value = outcome.tokens.lazy.compactMap({ culprit(behind: $0, outcome, bytes) }).first {
            outcome.unclosed.insert(value)
            outcome.tokens = Lexer.tokens(of: bytes, unclosed: outcome.unclosed)
        }
        outcome.problems = outcome.unclosed.sorted().map { problem(inValueAt: $0, bytes) }
        return outcome
    }

    /// The beginning of the value whose quote is to blame for this token.
    private static func culprit(behind token: Token, _ outcome: Outcome, _ bytes: [UInt8]) -> Int? {
        switch token.kind {
        case .assignment(_, let value):
            let patterns = LexerPatterns(bytes: bytes, unclosed: outcome.unclosed)
            guard patterns.isQuote(bytes[value.lowerBound]), !outcome.unclosed.contains(value.lowerBound) else {
                return nil
            }
            // A value may begin with a quote that closes within a longer word: "a"b. That is GStreamer's syntax.
            guard let end = patterns.quotedEnd(value.lowerBound), end <= value.upperBound else {
                return value.lowerBound
            }
            return nil
        case .character(let byte) where byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'"):
            // It closed nothing. A value before it took its opening quote for a closing one, or holds a quote that opened
            // nothing because it isn't at the value's beginning.
            let values = outcome.tokens.prefix { $0.range.upperBound <= token.range.lowerBound }.compactMap(\.value)
            return values.last {
                !outcome.unclosed.contains($0.lowerBound) && bytes[$0].contains(byte)
                    && (bytes[$0].contains(UInt8(ascii: "\n"))
                        || !bytes[$0.upperBound..<token.range.lowerBound].contains(UInt8(ascii: "\n")))
            }?.lowerBound
        default: return nil
        }
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
