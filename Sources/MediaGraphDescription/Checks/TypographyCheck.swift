/// Finds characters that web pages and word processors substitute for ASCII ones: no-break spaces, typographic quotes
/// and dashes. GStreamer takes them for parts of names and values and then misreads the rest of the text.
///
/// Inside quotes, and in the middle of an unquoted value such as a file name, the characters are taken as intended.
enum TypographyCheck {
    private struct Substitute {
        let name: String
        let remedy: String
        let kind: Kind
    }

    private enum Kind { case space, quote, dash }

    private static let characters: [Unicode.Scalar: Substitute] = {
        var characters: [Unicode.Scalar: Substitute] = [:]
        for scalar in "\u{A0}\u{2007}\u{202F}".unicodeScalars {
            characters[scalar] = Substitute(name: "a no-break space", remedy: "write an ordinary space", kind: .space)
        }
        for scalar in "\u{200B}\u{2060}\u{FEFF}".unicodeScalars {
            characters[scalar] = Substitute(name: "an invisible character", remedy: "delete it", kind: .space)
        }
        for scalar in "“”„«»".unicodeScalars {
            characters[scalar] = Substitute(name: "a typographic quote", remedy: "write \"", kind: .quote)
        }
        for scalar in "‘’‚".unicodeScalars {
            characters[scalar] = Substitute(name: "a typographic quote", remedy: "write '", kind: .quote)
        }
        for scalar in "–—−".unicodeScalars {
            characters[scalar] = Substitute(name: "a typographic dash", remedy: "write -", kind: .dash)
        }
        return characters
    }()

    static func problems(in text: String) -> [Problem] {
        guard !text.utf8.allSatisfy({ $0 < 0x80 }) else { return [] }
        let scalars = text.unicodeScalars
        var problems: [Problem] = []
        var quote: Unicode.Scalar?
        var wordStart = scalars.startIndex
        var index = scalars.startIndex
        while index < scalars.endIndex {
            let scalar = scalars[index]
            let next = scalars.index(after: index)
            // After a backslash, `index` skips the escaped character, which is part of its word.
            defer { index = scalars.index(after: index) }
            if let open = quote {
                if scalar == "\\", next < scalars.endIndex { index = next } else if scalar == open { quote = nil }
                continue
            }
            switch scalar {
            case "\"", "'": quote = scalar
            case "\\" where next < scalars.endIndex: index = next
            case " ", "\t", "\n", "\r": wordStart = next
            default:
                guard let character = characters[scalar] else { continue }
                let rest = scalars[next...].prefix { !$0.properties.isWhitespace || characters[$0] != nil }
                guard isMisplaced(character.kind, after: scalars[wordStart..<index], before: rest) else { continue }
                let offset = text.utf8.distance(from: text.startIndex, to: index)
                problems.append(
                    Problem(
                        place: .expanded(offset..<offset + UTF8.width(scalar)),
                        message: "there is \(character.name) (\(code(scalar))) here", hint: character.remedy))
                if character.kind == .space { wordStart = next }
            }
        }
        return problems
    }

    /// Returns whether the character is a mistake here. A space is misplaced outside values, at the end of a word,
    /// after a comma, or before `=` or `!`; a quote at the start of a word or value; a dash outside values, or as a
    /// minus sign.
    private static func isMisplaced(
        _ kind: Kind, after word: String.UnicodeScalarView.SubSequence,
        before rest: String.UnicodeScalarView.SubSequence
    ) -> Bool {
        let isInValue = word.contains("=")
        switch kind {
        case .space:
            return !isInValue || rest.isEmpty || word.last == "," || rest.contains { "=!".unicodeScalars.contains($0) }
        case .quote: return word.isEmpty || word.last == "="
        case .dash:
            return !isInValue || word.last == "=" && rest.first.map { "0"..."9" ~= $0 } == true
        }
    }

    private static func code(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
