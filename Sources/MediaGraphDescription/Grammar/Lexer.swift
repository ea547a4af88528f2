/// Splits expanded text into the same tokens as GStreamer's lexer (gst/parse/parse.l).
///
/// Like flex, it takes the longest match, and of several equally long ones that of the first rule. It must split every
/// text as GStreamer does; otherwise the checks would examine another description than the one that runs.
struct Lexer {
    private let text: LexerPatterns
    private var offset = 0
    private(set) var tokens: [Token] = []

    /// Returns the tokens of `bytes`. Quotes at the offsets in `unclosed` extend to the end of their line.
    static func tokens(of bytes: [UInt8], unclosed: Set<Int> = []) -> [Token] {
        var lexer = Lexer(text: LexerPatterns(bytes: bytes, unclosed: unclosed))
        while let token = lexer.next() { lexer.tokens.append(token) }
        return lexer.tokens
    }

    private init(text: LexerPatterns) { self.text = text }

    private mutating func next() -> Token? {
        offset = text.skipSpace(offset)
        guard offset < text.bytes.count else { return nil }
        // In the order of the rules in parse.l.
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

/// A token of gst-launch's syntax, with its range in the expanded text.
struct Token {
    enum Kind {
        /// `name=value`, with the value's quotes and backslashes.
        case assignment(name: Range<Int>, value: Range<Int>)
        /// `@preset=value`
        case preset(value: Range<Int>)
        /// `.pad`, after or before the pad's element
        case padReference(Range<Int>)
        /// `element.` or `element.pad`
        case reference(element: Range<Int>, pad: Range<Int>?)
        /// `bin.(`, with the factory's name
        case binOpening(factory: Range<Int>)
        case identifier
        /// `!`, or `:`, which links all pads; with the caps filter, if any
        case link(all: Bool, caps: Range<Int>?)
        case uri
        /// An operator by itself, or a byte that begins no other token
        case character(UInt8)
    }

    let kind: Kind
    let range: Range<Int>

    func isCharacter(_ character: Unicode.Scalar) -> Bool {
        if case .character(let byte) = kind { byte == UInt8(ascii: character) } else { false }
    }

    var isLink: Bool { if case .link = kind { true } else { false } }
}
