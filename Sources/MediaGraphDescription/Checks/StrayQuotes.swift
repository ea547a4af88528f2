/// Finds quotes around a filter, an element or the whole description, which a shell would remove. GStreamer's parser
/// allows quotes only around a property's value, and splits the text inside others into wrong tokens.
enum StrayQuotes {
    private static let maximumRounds = 20

    static func problems(in bytes: [UInt8]) -> [Problem] {
        // Quotes that have been found are replaced by spaces.
        var bytes = bytes
        var problems: [Problem] = []
        while problems.count < maximumRounds, let quoted = find(in: bytes) {
            let isAll = !bytes[..<quoted.lowerBound].contains { !$0.isSpace } && endsText(quoted.upperBound, bytes)
            let inner = bytes[quoted].dropFirst().dropLast()
            problems.append(
                Problem(
                    place: isAll ? .expanded(quoted.lowerBound..<quoted.lowerBound + 1) : .expanded(quoted),
                    message: isAll && inner.contains(UInt8(ascii: "!"))
                        ? "the whole description is in quotes" : "\"\(inner.text)\" is in quotes",
                    hint: "remove the quotes: only a shell strips them"))
            bytes[quoted.lowerBound] = UInt8(ascii: " ")
            bytes[quoted.upperBound - 1] = UInt8(ascii: " ")
        }
        return problems
    }

    /// Returns the next quoted text that begins in place of an element or a filter, and ends before a link or the end
    /// of the text.
    private static func find(in bytes: [UInt8]) -> Range<Int>? {
        let tokens = Lexer.tokens(of: bytes)
        for (index, token) in tokens.enumerated() where index == 0 || tokens[index - 1].isLink {
            guard case .character(let quote) = token.kind, "\"'".utf8.contains(quote) else { continue }
            let start = token.range.lowerBound
            let closing = bytes[(start + 1)...].indices.first { end in
                bytes[end] == quote && (endsText(end + 1, bytes) || isLink(after: end + 1, bytes))
            }
            guard let closing, closing > start + 1 else { continue }
            return start..<closing + 1
        }
        return nil
    }

    private static func endsText(_ offset: Int, _ bytes: [UInt8]) -> Bool {
        bytes[offset...].allSatisfy(\.isSpace)
    }

    private static func isLink(after offset: Int, _ bytes: [UInt8]) -> Bool {
        bytes[offset...].first { !$0.isSpace } == UInt8(ascii: "!")
    }
}
