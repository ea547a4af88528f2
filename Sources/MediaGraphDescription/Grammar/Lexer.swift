/// Splits expanded text into the tokens that GStreamer's own lexer (gst/parse/parse.l) sees.
///
/// Like flex it takes the longest match, and of equally long ones the first rule's. Text that it splits otherwise would
/// be checked as something else than what runs.
struct Lexer {
    private let text: LexerPatterns
    private var offset = 0
    private(set) var tokens: [Token] = []

    /// The tokens of `bytes`. Quotes at the offsets in `unclosed` are taken to reach to the end of their line.
    static func tokens(of bytes: [UInt8], unclosed: Set<Int> = []) -> [Token] {
        var lexer = Lexer(text: LexerPatterns(bytes: bytes, unclosed: unclosed))
        while let token = lexer.next() { lexer.tokens.append(token) }
        return lexer.tokens
    }

    private init(text: LexerPatterns) { self.text = text }

    private mutating func next() -> Token? {
        offset = text.skipSpace(offset)
        guard offset < text.bytes.count else { return nil }
        // In the order of parse.l's rules.
        let rules = [
            text.assignment, text.preset, text.padReference, text.reference, text.binReference, text.identifier,
            text.link,
            text.uri, text.character,
        ]
        var longest: Token?
        for rule in rules {
            guard let token = rule(offset) else { continue }
            if token.range.upperBound > longest?.range.upperBound ?? offset { longest = token }
        }
        offset = longest?.range.upperBound ?? offset + 1
        return longest
    }
}
