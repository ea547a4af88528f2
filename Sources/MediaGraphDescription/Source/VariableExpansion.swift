/// Expands a description's source into the text for GStreamer's parser: without comments, and with variables replaced.
struct VariableExpansion {
    private(set) var bytes: [UInt8] = []
    private(set) var map = OffsetMap()
    private(set) var problems: [Problem] = []
    private let source: SourceText
    private let values: [String: String]
    /// The place of the opening quote of the current quoted value, and whether the value's first byte came from a
    /// variable.
    private var openQuote: (start: Int, source: Range<Int>, beginsInVariable: Bool)?
    /// Whether the last written byte came from a variable.
    private var endsInVariable = false
    /// A variable with an empty value directly after the equals sign of a property, or of a field in a filter.
    private var missingValue: (reference: VariableReference, isInFilter: Bool)?

    init(_ source: SourceText, variables: [String: String]) {
        self.source = source
        values = variables
        let scanner = SourceScanner(source)
        problems = scanner.problems
        if let nul = source.bytes.firstIndex(of: 0) {
            problems.append(
                Problem(
                    place: .source(nul..<nul + 1), message: "there is a NUL character here",
                    hint: "a description is text: if this is one, remove the character; if not, name another file"))
        }
        for piece in scanner.pieces {
            reportMissingValue(before: piece)
            write(piece)
            noteMissingValue(piece, scanner.filters)
        }
        reportMissingValue(before: nil)
    }

    private mutating func write(_ piece: SourceScanner.Piece) {
        var wroteVariable = false
        switch piece {
        case .text(let range): copy(range)
        case .literal(let text, let range): append(Array(text.utf8), from: range)
        case .malformed(let range): append([.unknownText], from: range)
        case .openingQuote(_, let range):
            openQuote = (bytes.count, range, false)
            copy(range)
        case .closingQuote(let quote, let range): close(quote, range)
        case .variable(let reference, let quotes):
            expand(reference, quotes)
            wroteVariable = true
        }
        endsInVariable = wroteVariable
    }

    // MARK: Variables

    private mutating func expand(_ reference: VariableReference, _ quotes: SourceScanner.Quotes?) {
        // As in shells, `:-` selects the default if the value is missing or empty.
        if let value = values[reference.name], !value.isEmpty || reference.defaultParts == nil {
            let expansion = OffsetMap.Expansion(
                name: reference.name, value: value, context: quotes == nil ? context : .quoted)
            guard !value.utf8.contains(0) else { return refuseNul(reference) }
            if quotes != nil, let open = openQuote, bytes.count == open.start + 1 { openQuote?.beginsInVariable = true }
            append(Self.escaped(value, within: quotes), from: reference.range, expansion: expansion)
        } else if let parts = reference.defaultParts {
            for part in parts { write(part, quotes) }
        } else {
            problems.append(
                Problem(
                    place: .source(reference.range), message: "undefined variable \"\(reference.name)\"",
                    hint: undefinedHint(reference.name)))
            append([.unknownText], from: reference.range)
        }
    }

    /// The context of a variable at the end of the written text.
    private var context: OffsetMap.Expansion.Context {
        switch bytes.last {
        case UInt8(ascii: "="): .value
        case let byte? where byte.continuesIdentifier || byte == UInt8(ascii: "."): .word
        default: .alone
        }
    }

    private mutating func write(_ part: VariableReference.DefaultPart, _ quotes: SourceScanner.Quotes?) {
        switch part {
        case .variable(let reference): expand(reference, quotes)
        case .literal(let text, let range): append(Self.escaped(text, within: quotes), from: range)
        case .text(let range):
            let text = source.text(range)
            let escaped = Self.escaped(text, within: quotes)
            if escaped.count == range.count { copy(range) } else { append(escaped, from: range) }
        }
    }

    // MARK: Empty values

    /// Remembers a variable after which a property's value is still empty.
    private mutating func noteMissingValue(_ piece: SourceScanner.Piece, _ filters: [Range<Int>]) {
        guard missingValue == nil, case .variable(let reference, nil) = piece else { return }
        let isInFilter = filters.contains { $0.contains(reference.range.lowerBound) }
        if endsInEqualsSign(inFilter: isInFilter) { missingValue = (reference, isInFilter) }
    }

    /// Reports the remembered variable if no value follows it. GStreamer's lexer skips the spaces after an equals sign,
    /// so the next word, perhaps a link, would become the value.
    private mutating func reportMissingValue(before next: SourceScanner.Piece?) {
        guard let (reference, isInFilter) = missingValue else { return }
        guard endsInEqualsSign(inFilter: isInFilter) else { return missingValue = nil }
        switch next {
        // The next variable follows directly and may complete the value.
        case .variable(_, nil): return
        case .text(let range):
            let byte = source.bytes[range.lowerBound]
            let endsFilter = isInFilter && ",;!".utf8.contains(byte)
            guard byte.isSpace || endsFilter else { return missingValue = nil }
        case .literal("\n", _), nil: break
        default: return missingValue = nil
        }
        missingValue = nil
        problems.append(
            Problem(
                place: .source(reference.range), message: "variable \"\(reference.name)\" is empty here",
                hint: isInFilter
                    ? "set it with \(reference.name)=value"
                    : "the next word would become the property's value; set \(reference.name)=value, "
                        + "or write quotes around ${\(reference.name)}")
        )
        append([.unknownText], from: reference.range)
    }

    /// Returns whether the written text ends with a name and an equals sign.
    private func endsInEqualsSign(inFilter: Bool) -> Bool {
        let rest = bytes.reversed().drop(while: \.isSpace)
        guard rest.first == UInt8(ascii: "=") else { return false }
        let name = rest.dropFirst().drop(while: \.isSpace)
        let before = name.drop(while: \.continuesIdentifier)
        guard before.startIndex > name.startIndex else { return false }
        return inFilter || before.first.map { $0.isSpace || "!()".utf8.contains($0) } ?? true
    }

    private func undefinedHint(_ name: String) -> String {
        let near = NearestName.find(name, among: Array(values.keys))
        if let near, near.lowercased() == name.lowercased() { return "its value was set as \(near): write ${\(near)}" }
        let give = "set it with \(name)=value, or write a default: ${\(name):-default}"
        return near.map { "did you mean \"\($0)\"? Otherwise \(give)" } ?? give
    }

    private mutating func refuseNul(_ reference: VariableReference) {
        problems.append(
            Problem(
                place: .source(reference.range), message: "the value of \"\(reference.name)\" contains a NUL character",
                hint: "set \(reference.name) to a text without it"))
        append([.unknownText], from: reference.range)
    }

    /// Returns the value, escaped so that it remains one value within these quotes.
    private static func escaped(_ value: String, within quotes: SourceScanner.Quotes?) -> [UInt8] {
        switch quotes {
        case nil: return Array(value.utf8)
        // gst_parse_unescape removes the backslashes of one level; it keeps backslashes between quote characters, so
        // these are escaped too. The reader of a structure or a description removes those of each further level.
        case .value(_, let depth): return (0...depth).reduce(Array(value.utf8)) { text, _ in escaped(text, "\\\"'") }
        // gst_caps_from_string removes the backslashes. `!` and `;` would end the filter for the lexer even inside
        // quotes.
        case .caps: return escaped(Array(value.utf8), "\\\"!;")
        }
    }

    private static func escaped(_ text: [UInt8], _ special: String) -> [UInt8] {
        text.flatMap { special.utf8.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
    }

    // MARK: Quotes

    /// Ends a quoted value. For GStreamer's lexer, a quote after a backslash doesn't end a value. A value that ends
    /// with a backslash from a variable is therefore written without quotes, with every space escaped.
    private mutating func close(_ quote: UInt8, _ range: Range<Int>) {
        guard let open = openQuote else { return copy(range) }
        let value = bytes[(open.start + 1)...]
        if open.beginsInVariable || endsInVariable, !value.isUnknown {
            let text = PropertyText.unescaped(value)
            if PropertyText.isQuoted(text) || open.beginsInVariable && text == Array("NULL".utf8) {
                bytes.removeSubrange(open.start...)
                map.truncate(to: open.start)
                let inner = Self.escaped(PropertyText.wrapped(text), "\\\"'")
                return append([quote] + inner + [quote], from: open.source.lowerBound..<range.upperBound)
            }
        }
        guard endsInVariable, bytes.last == UInt8(ascii: "\\") else { return copy(range) }
        if value.contains(UInt8(ascii: "\n")) {
            problems.append(
                Problem(
                    place: .source(open.source.lowerBound..<range.upperBound),
                    message: "a value with a line break can't end with a backslash",
                    hint: "remove the line break or the backslash: GStreamer's syntax can't express both"))
        }
        // Single quotes are part of the value.
        let mark = quote == UInt8(ascii: "'") ? [UInt8(ascii: "\\"), quote] : []
        let escaped = value.flatMap { $0.isSpace ? [UInt8(ascii: "\\"), $0] : [$0] }
        bytes.removeSubrange(open.start...)
        map.truncate(to: open.start)
        // A space after the backslash would become part of the word; a line break ends it.
        append(mark + escaped + mark + [UInt8(ascii: "\n")], from: open.source.lowerBound..<range.upperBound)
    }

    // MARK: Output

    private mutating func copy(_ range: Range<Int>) {
        map.append(at: bytes.count, from: range, isVerbatim: true)
        // A NUL, which `init` reports, would end the C string.
        bytes += source.bytes[range].map { $0 == 0 ? UInt8(ascii: " ") : $0 }
    }

    private mutating func append(
        _ text: [UInt8], from range: Range<Int>, expansion: OffsetMap.Expansion? = nil
    ) {
        guard !text.isEmpty else { return }
        map.append(at: bytes.count, from: range, isVerbatim: false, expansion: expansion)
        bytes += text
    }
}
