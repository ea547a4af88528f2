/// The regular expressions of GStreamer's lexer. Each is a function that returns the longest match at an offset. The
/// comments quote the expressions from gst/parse/parse.l of GStreamer 1.22.
struct LexerPatterns {
    let bytes: [UInt8]
    /// The offsets of opening quotes without a closing one. Such a quote ends with its line.
    let unclosed: Set<Int>

    // MARK: Rules

    /// `_assignment {_identifier}{_assign}{_string}`, where `_assign [[:space:]]*"="[[:space:]]*`
    func assignment(_ start: Int) -> Token? {
        let name = identifierEnd(start)
        guard name > start, let value = assignEnd(name), let end = stringEnd(value) else { return nil }
        return Token(kind: .assignment(name: start..<name, value: value..<end), range: start..<end)
    }

    /// `_preset @preset{_assign}{_string}`
    func preset(_ start: Int) -> Token? {
        let keyword = Array("@preset".utf8)
        guard bytes[start...].starts(with: keyword), let value = assignEnd(start + keyword.count),
            let end = stringEnd(value)
        else { return nil }
        // In GStreamer, the value is everything after the equals sign, including spaces.
        let equals = bytes[start...].firstIndex(of: UInt8(ascii: "="))!
        return Token(kind: .preset(value: equals + 1..<end), range: start..<end)
    }

    /// `_padref "."{_identifier}`
    func padReference(_ start: Int) -> Token? {
        guard has(".", start) else { return nil }
        let end = identifierEnd(start + 1)
        return end > start + 1 ? Token(kind: .padReference(start + 1..<end), range: start..<end) : nil
    }

    /// `_ref {_identifier}"."{_identifier}?`
    func reference(_ start: Int) -> Token? {
        let name = identifierEnd(start)
        guard name > start, has(".", name) else { return nil }
        let end = max(identifierEnd(name + 1), name + 1)
        return Token(
            kind: .reference(element: start..<name, pad: end > name + 1 ? name + 1..<end : nil), range: start..<end)
    }

    /// `_binref {_identifier}[[:space:]]*"."[[:space:]]*"("`
    func binReference(_ start: Int) -> Token? {
        let name = identifierEnd(start)
        let dot = skipSpace(name)
        guard name > start, has(".", dot) else { return nil }
        let parenthesis = skipSpace(dot + 1)
        guard has("(", parenthesis) else { return nil }
        return Token(kind: .binOpening(factory: start..<name), range: start..<parenthesis + 1)
    }

    func identifier(_ start: Int) -> Token? {
        let end = identifierEnd(start)
        return end > start ? Token(kind: .identifier, range: start..<end) : nil
    }

    /// `({_protocol}"://"{_string}|["."{_identifier}]?"/"{_string})|({_protocol}"://")`
    ///
    /// The brackets are a set of characters, although an identifier was surely intended: `./a` and `d/a` match.
    func uri(_ start: Int) -> Token? {
        var end: Int?
        if bytes[start].isLetter {
            var scheme = start + 1
            // `_protocol [[:alpha:]][[:alnum:]+-\.]*`, in which `+-\.` is the range of the characters + , - .
            while scheme < bytes.count, bytes[scheme].isAlphanumeric || (0x2B...0x2E).contains(bytes[scheme]) {
                scheme += 1
            }
            if scheme < bytes.count, bytes[scheme...].starts(with: "://".utf8) {
                end = stringEnd(scheme + 3) ?? scheme + 3
            }
        }
        let slash = "\".{_identfr}".utf8.contains(bytes[start]) ? start + 1 : start
        if has("/", slash), let path = stringEnd(slash + 1), path > end ?? 0 { end = path }
        return end.map { Token(kind: .uri, range: start..<$0) }
    }

    /// `_operator [(){}.!:,;=]`, or any other byte, which the grammar doesn't accept
    func character(_ start: Int) -> Token? {
        // GStreamer's lexer returns the bytes of a non-ASCII character one by one. The grammar accepts none of them,
        // and a message needs the whole character.
        var end = start + 1
        while end < bytes.count, bytes[end] & 0b1100_0000 == 0b1000_0000 { end += 1 }
        return Token(kind: .character(bytes[start]), range: start..<end)
    }

    // MARK: Parts

    func skipSpace(_ start: Int) -> Int {
        var end = start
        while end < bytes.count, bytes[end].isSpace { end += 1 }
        return end
    }

    private func identifierEnd(_ start: Int) -> Int {
        guard start < bytes.count, bytes[start].startsIdentifier else { return start }
        var end = start + 1
        while end < bytes.count, bytes[end].continuesIdentifier { end += 1 }
        return end
    }

    private func assignEnd(_ start: Int) -> Int? {
        let equals = skipSpace(start)
        return has("=", equals) ? skipSpace(equals + 1) : nil
    }

    /// `_string {_char}+|("\""([^\"]|"\\\"")*"\"")|("'"([^']|"\\\'")*"'")`, the longest of the three
    private func stringEnd(_ start: Int) -> Int? {
        guard start < bytes.count else { return nil }
        if unclosed.contains(start) { return lineEnd(start) }
        let word = wordEnd(start)
        let quoted = isQuote(bytes[start]) ? quotedEnd(start) : nil
        let end = max(word, quoted ?? start)
        return end > start ? end : nil
    }

    /// `_char ("\\".)|([^[:space:]])`, repeated. A backslash also matches as a character of its own, so a backslash
    /// escapes the space after it even if the backslash is itself escaped.
    private func wordEnd(_ start: Int) -> Int {
        var end = start
        while end < bytes.count {
            if bytes[end].isSpace {
                let isEscaped = end > start && bytes[end - 1] == UInt8(ascii: "\\") && bytes[end] != UInt8(ascii: "\n")
                if !isEscaped { break }
            }
            end += 1
        }
        return end
    }

    /// Returns the end of the longest quoted match: a quote after a backslash closes only if no other quote does.
    func quotedEnd(_ start: Int) -> Int? {
        var closing: Int?
        for end in bytes.indices[(start + 1)...] where bytes[end] == bytes[start] {
            closing = end
            if bytes[end - 1] != UInt8(ascii: "\\") { break }
        }
        return closing.map { $0 + 1 }
    }

    func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    func lineEnd(_ start: Int) -> Int { bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count }

    func has(_ character: Unicode.Scalar, _ offset: Int) -> Bool {
        offset < bytes.count && bytes[offset] == UInt8(ascii: character)
    }
}
