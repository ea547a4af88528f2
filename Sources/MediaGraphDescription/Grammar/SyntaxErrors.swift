import GStreamer

// Reports tokens that the grammar doesn't allow at their place.
extension DescriptionParser {
    mutating func reportNothing(before link: Token) {
        let range = link.range.lowerBound..<link.range.lowerBound + 1
        if position == afterSkipped { return }
        guard position > 0 else {
            return report(range, "there is no element before this link", "write one before \"!\"")
        }
        switch tokens[position - 1].kind {
        case .reference(let element, _):
            let name = bytes[element].text
            report(
                range, "a chain can't continue after a reference",
                "to link from \"\(name)\", begin a new chain: \(name). ! …")
        case .uri:
            report(
                range, "a chain can't continue after a URI", "write a URI only at the beginning or the end of a chain")
        default: report(range, "there is no element before this link", "write one before \"!\"")
        }
    }

    mutating func reportNothing(after link: Token) {
        if case .link(_, let caps?) = link.kind {
            return report(
                link.range.upperBound - 1..<link.range.upperBound, "there is no element after this link",
                "write one after the filter \"\(bytes[caps].text)\"")
        }
        report(link.range, "there is no element after this link", "write one after \"!\"")
    }

    mutating func reportUnlinked(_ token: Token, _ element: Range<Int>) {
        let name = bytes[element].text
        let reference = bytes[token.range].text
        report(
            token.range, "reference \"\(reference)\" isn't linked",
            "to link it: \(reference.hasSuffix(".") ? "\(name)." : reference) ! …")
    }

    /// Reports the current token, which can't begin a chain or an element, and skips it.
    mutating func skipUnexpected() {
        guard let token else { return }
        position += 1
        defer { afterSkipped = position }
        switch token.kind {
        case .assignment(let name, _):
            report(
                token.range, "property \"\(bytes[name].text)\" follows no element",
                "put the property directly after its element's name")
        case .preset:
            report(token.range, "this preset follows no element", "put the preset directly after its element's name")
        case .padReference(let name):
            report(
                token.range, "pad \"\(bytes[name].text)\" follows no element",
                "put the pad's name between its element and a link")
        case .character: skipCharacters(token)
        default: report(token.range, "unexpected \"\(bytes[token.range].text)\"")
        }
    }

    private static let nameHint = "names consist of ASCII letters, digits, _ - % and :"

    /// Reports and skips a word that begins like a name and contains non-ASCII characters, at which the lexer splits
    /// it.
    mutating func skipForeignName(_ first: Token) -> Bool {
        guard position + 1 < tokens.count, case .character(0x80...) = tokens[position + 1].kind,
            tokens[position + 1].range.lowerBound == first.range.upperBound
        else { return false }
        let word = bytes[first.range.lowerBound...].prefix { !$0.isSpace }
        report(word.startIndex..<word.endIndex, "\"\(word.text)\" isn't a valid name", Self.nameHint)
        while let token, token.range.lowerBound < word.endIndex { position += 1 }
        return true
    }

    /// Reports and skips a pad's name with characters that the grammar doesn't allow, such as an unescaped user name.
    mutating func skipForeignPad(_ reference: Token, _ element: Range<Int>, _ pad: Range<Int>) {
        guard let token, token.range.lowerBound == reference.range.upperBound else { return }
        switch token.kind {
        case .link: return
        case .character(let byte) where ",():!".utf8.contains(byte): return
        default: break
        }
        let word = bytes[pad.lowerBound...].prefix { !$0.isSpace && $0 != UInt8(ascii: "!") }
        let name = word.text
        report(
            pad.lowerBound..<word.endIndex, "\"\(name)\" isn't a valid pad name",
            UserPad.corrected(name, after: bytes[element].text + ".") ?? Self.nameHint)
        while let token = self.token, token.range.lowerBound < word.endIndex { position += 1 }
    }

    /// Reports a filter that ends at a `!` inside quotes, and skips the text up to the closing quote.
    mutating func skipTornFilter(_ caps: Range<Int>) -> Bool {
        var quote: Int?
        var offset = caps.lowerBound
        while offset < caps.upperBound {
            if bytes[offset] == UInt8(ascii: "\"") { quote = quote == nil ? offset : nil }
            offset += bytes[offset] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard let quote else { return false }
        report(
            quote..<caps.upperBound, "this quote isn't closed before the filter ends",
            "\"!\" ends a filter even inside quotes; inside quotes, write \\!")
        let closing = tokens[position...].firstIndex { $0.isCharacter("\"") }
        let lineEnd = bytes[caps.upperBound...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        if let closing, tokens[closing].range.lowerBound < lineEnd { position = closing + 1 }
        return true
    }

    private static let mediaKinds = ["audio", "video", "image", "text", "application", "subpicture"]

    /// Reports and skips caps in an element's place, which the lexer splits: a filter must be between two links.
    mutating func skipMisplacedFilter(_ first: Token) -> Bool {
        let start = first.range.lowerBound
        guard Self.mediaKinds.contains(bytes[first.range].text), first.range.upperBound < bytes.count,
            bytes[first.range.upperBound] == UInt8(ascii: "/")
        else { return false }
        let rest = bytes[start...].prefix { $0 != UInt8(ascii: "!") && $0 != UInt8(ascii: "\n") }
        let end = rest.lastIndex { !$0.isSpace }! + 1
        let caps = bytes[start..<end].text
        if position > 0, case .link(_, let before?) = tokens[position - 1].kind {
            report(
                start..<end, "there are two filters in a row, but a link can have only one",
                Self.joined(bytes[before].text, caps) ?? "remove one, or put a converter between them")
        } else if position > 0, tokens[position - 1].isLink {
            report(start..<end, "a chain can't end with a filter", "put an element after it: ! \(caps) ! …")
        } else {
            report(start..<end, "a chain can't begin with a filter", "put an element before it: … ! \(caps)")
        }
        while let token, token.range.lowerBound < end { position += 1 }
        return true
    }

    /// Returns a hint that joins two filters into one; `nil` if they contradict each other.
    private static func joined(_ first: String, _ second: String) -> String? {
        let (type, fields) = (first.prefix { $0 != "," }, second.drop { $0 != "," })
        guard second.hasPrefix(type), second.dropFirst(type.count) == fields,
            let a = try? Caps(checking: first), let b = try? Caps(checking: second), a.canIntersect(b)
        else { return nil }
        return "write them as one: \(first)\(fields)"
    }

    private mutating func skipCharacters(_ first: Token) {
        var end = first.range.upperBound
        // The lexer splits a misplaced path or media type into several tokens. Report them once.
        while let token, token.range.lowerBound == end, case .character = token.kind, !token.isCharacter(")") {
            end = token.range.upperBound
            position += 1
        }
        if first.isCharacter("$"), let token, case .identifier = token.kind, token.range.lowerBound == end {
            position += 1
            let name = bytes[token.range].text
            return report(
                first.range.lowerBound..<token.range.upperBound, "unexpected \"$\(name)\"",
                "write the variable as ${\(name)}")
        }
        let text = bytes[first.range.lowerBound..<end].text
        if "|>&".utf8.contains(bytes[first.range.lowerBound]) {
            // The rest of the text is for the shell, too.
            position = tokens.count
            return report(
                first.range.lowerBound..<end, "unexpected \"\(text)\"",
                text == "|"
                    ? "link elements with !; a shell's pipe can't be part of a description"
                    : "remove it and what follows it: a shell's operators can't be part of a description")
        }
        let hint: String? =
            switch bytes[first.range.lowerBound] {
            case UInt8(ascii: "\\"): "remove the backslash: only a shell needs it, outside quotes"
            case UInt8(ascii: "."): "to name a pad, write its name directly after the dot: .src"
            case UInt8(ascii: "="): "a property is written name=value"
            case UInt8(ascii: "#"): "write a space before the # of a comment"
            case UInt8(ascii: "\""), UInt8(ascii: "'"): "quotes enclose a property's value: name=\"a value\""
            case UInt8(ascii: ";"), UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: ","):
                "if it is part of a value, put the value in quotes; otherwise remove it"
            case 0x80...: Self.nameHint
            default: nil
            }
        let isQuote = text.contains("\"") || text.contains("'")
        report(first.range.lowerBound..<end, isQuote ? "unexpected quote" : "unexpected \"\(text)\"", hint)
    }
}
