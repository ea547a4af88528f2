/// Writes the text that GStreamer's parser is given: no comments, variables replaced.
struct VariableExpansion {
    private(set) var bytes: [UInt8] = []
    private(set) var map = OffsetMap()
    private(set) var problems: [Problem] = []
    private let source: SourceText
    private let values: [String: String]
    /// Where the quoted value that is being written began, and whether its last byte came from a variable.
    private var openQuote: (start: Int, source: Range<Int>)?
    private var endsInVariable = false

    init(_ source: SourceText, variables: [String: String]) {
        self.source = source
        values = variables
        let scanner = SourceScanner(source)
        problems = scanner.problems
        if let nul = source.bytes.firstIndex(of: 0) {
            problems.append(
                Problem(
                    place: .source(nul..<nul + 1), message: "a NUL character",
                    hint: "a description is text; this looks like another kind of file"))
        }
        for piece in scanner.pieces { write(piece) }
    }

    private mutating func write(_ piece: SourceScanner.Piece) {
        var wroteVariable = false
        switch piece {
        case .text(let range): copy(range)
        case .literal(let text, let range): append(Array(text.utf8), from: range)
        case .malformed(let range): append([.unknownText], from: range)
        case .openingQuote(_, let range):
            openQuote = (bytes.count, range)
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
        // As in shells: `:-` takes the default when the value is missing or empty.
        if let value = values[reference.name], !value.isEmpty || reference.defaultParts == nil {
            let expansion = OffsetMap.Expansion(name: reference.name, value: value)
            guard !value.utf8.contains(0) else { return refuseNul(reference) }
            append(Self.quoted(value, quotes), from: reference.range, expansion: expansion)
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

    private mutating func write(_ part: VariableReference.DefaultPart, _ quotes: SourceScanner.Quotes?) {
        switch part {
        case .variable(let reference): expand(reference, quotes)
        case .literal(let text, let range): append(Self.quoted(text, quotes), from: range)
        case .text(let range):
            let text = source.text(range)
            let quoted = Self.quoted(text, quotes)
            if quoted.count == range.count { copy(range) } else { append(quoted, from: range) }
        }
    }

    private func undefinedHint(_ name: String) -> String {
        let near = NearestName.find(name, among: Array(values.keys))
        let give = "give it as \(name)=value, or write a default: ${\(name):-default}"
        return near.map { "did you mean \"\($0)\"? Otherwise \(give)" } ?? give
    }

    private mutating func refuseNul(_ reference: VariableReference) {
        problems.append(
            Problem(
                place: .source(reference.range), message: "the value of \"\(reference.name)\" holds a NUL character"))
        append([.unknownText], from: reference.range)
    }

    /// The text that stays one value in these quotes.
    private static func quoted(_ value: String, _ quotes: SourceScanner.Quotes?) -> [UInt8] {
        let special: String
        switch quotes {
        case nil: return Array(value.utf8)
        // Taken off by gst_parse_unescape, for which a quote character begins a part where backslashes stay.
        case .value: special = "\\\"'"
        // Taken off by gst_caps_from_string; `!` and `;` would end the filter for the lexer, quoted or not.
        case .caps: special = "\\\"!;"
        }
        return value.utf8.flatMap { special.utf8.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
    }

    // MARK: Quotes

    /// Ends a quoted value. For GStreamer's lexer a quote after a backslash doesn't end one, so a value whose last
    /// character is a variable's backslash is written without quotes, every blank escaped.
    private mutating func close(_ quote: UInt8, _ range: Range<Int>) {
        guard endsInVariable, bytes.last == UInt8(ascii: "\\"), let open = openQuote else { return copy(range) }
        let value = bytes[(open.start + 1)...]
        if value.contains(UInt8(ascii: "\n")) {
            problems.append(
                Problem(
                    place: .source(open.source.lowerBound..<range.upperBound),
                    message: "a value with a line break can't end with a backslash",
                    hint: "GStreamer's syntax has no way to write it"))
        }
        // Single quotes belong to the value.
        let mark = quote == UInt8(ascii: "'") ? [UInt8(ascii: "\\"), quote] : []
        let escaped = value.flatMap { $0.isSpace ? [UInt8(ascii: "\\"), $0] : [$0] }
        bytes.removeSubrange(open.start...)
        map.truncate(to: open.start)
        // A blank after the backslash would be taken for part of the word, but for a line break.
        append(mark + escaped + mark + [UInt8(ascii: "\n")], from: open.source.lowerBound..<range.upperBound)
    }

    // MARK: Output

    private mutating func copy(_ range: Range<Int>) {
        map.append(at: bytes.count, from: range, isVerbatim: true)
        // A NUL, refused above, would end the text for C.
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
