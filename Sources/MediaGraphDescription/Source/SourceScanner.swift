/// Splits a description's source into pieces that the expansion copies, drops or replaces.
///
/// The scanner knows just enough of gst-launch's syntax to find the beginnings of tokens (`#` begins a comment only
/// there) and quotes (only inside quotes, a variable is always one value). A variable's value has no influence on
/// either.
struct SourceScanner {
    enum Piece {
        case text(Range<Int>)
        /// Text that replaces the source: `${` for `$${`, and a line break for one with a backslash before it.
        case literal(String, Range<Int>)
        case variable(VariableReference, Quotes?)
        /// Text that begins like a variable and isn't one.
        case malformed(Range<Int>)
        /// The quotes around a property's value.
        case openingQuote(UInt8, Range<Int>)
        case closingQuote(UInt8, Range<Int>)
    }

    /// The quotes around a variable.
    enum Quotes: Hashable {
        /// Quotes around a property's value. GStreamer's parser removes double quotes and leaves single quotes to the
        /// property. `depth` is the number of quotes that are open inside the value, which the reader of the value
        /// removes: 1 in `options="location=\"${FILE}\""`.
        case value(UInt8, depth: Int)
        /// Double quotes in a caps filter, which `gst_caps_from_string` removes.
        case caps
    }

    private(set) var pieces: [Piece] = []
    private(set) var problems: [Problem] = []
    /// The ranges of caps filters.
    private(set) var filters: [Range<Int>] = []
    let bytes: [UInt8]
    private var offset = 0

    init(_ source: SourceText) {
        bytes = source.bytes
        // Skip a byte order mark, which some editors write.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
        let start = offset
        while offset < bytes.count { scanToken(isFirst: offset == start) }
    }

    // MARK: Tokens

    private mutating func scanToken(isFirst: Bool) {
        let byte = bytes[offset]
        let mayBeComment = isFirst || bytes[offset - 1].isSpace || "!()".utf8.contains(bytes[offset - 1])
        if byte == UInt8(ascii: "#"), mayBeComment {
            skipComment()
        } else if let length = continuation(at: offset) {
            add(.literal("\n", offset..<offset + length))
        } else if starts(with: VariableReference.opening) || byte.startsIdentifier {
            scanName()
        } else if byte == UInt8(ascii: "@") {
            // A preset. No token begins within it.
            scanWord()
        } else if byte == UInt8(ascii: "!") || byte == UInt8(ascii: ":") {
            copy(1)
            scanFilter()
        } else if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "$") {
            scanWord()
        } else if byte == UInt8(ascii: "\\") {
            copy(min(2, bytes.count - offset))
        } else {
            copy(1)
        }
    }

    /// Scans a name, and the value if it is a property's name.
    private mutating func scanName() {
        while offset < bytes.count {
            if starts(with: VariableReference.opening) {
                scanVariable(nil)
            } else if bytes[offset].continuesIdentifier {
                if starts(with: "://".utf8) { return scanWord() }
                copy(1)
            } else {
                break
            }
        }
        var equals = offset
        while equals < bytes.count, bytes[equals].isSpace { equals += 1 }
        guard equals < bytes.count, bytes[equals] == UInt8(ascii: "=") else { return }
        var value = equals + 1
        while value < bytes.count, bytes[value].isSpace { value += 1 }
        copy(value - offset)
        guard offset < bytes.count else { return }
        let quote = bytes[offset]
        if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"), let end = closingQuote(from: offset) {
            scanQuoted(quote, to: end)
        } else {
            scanWord()
        }
    }

    /// Scans everything up to the next space. A space after a backslash doesn't end a word.
    private mutating func scanWord() {
        let start = offset
        while offset < bytes.count, continuation(at: offset) == nil {
            let byte = bytes[offset]
            if byte.isSpace {
                let isEscaped = offset > start && bytes[offset - 1] == UInt8(ascii: "\\") && byte != UInt8(ascii: "\n")
                if !isEscaped { return }
                copy(1)
            } else if byte == UInt8(ascii: "\\"), offset + 1 < bytes.count, !bytes[offset + 1].isSpace {
                copy(2)
            } else {
                scanTextByte(nil)
            }
        }
    }

    private mutating func scanQuoted(_ quote: UInt8, to end: Int) {
        add(.openingQuote(quote, offset..<offset + 1))
        var depth = 0
        while offset < end {
            if quote == UInt8(ascii: "\""), let inner = innerQuote(depth, before: end) {
                depth += inner.isOpening ? 1 : -1
                copy(inner.length)
            } else if bytes[offset] == UInt8(ascii: "\\"), let next = endOfOpaque(offset), next <= end {
                copy(next - offset)
            } else {
                scanTextByte(.value(quote, depth: depth))
            }
        }
        add(.closingQuote(quote, offset..<offset + 1))
    }

    /// Returns the length, including backslashes, of a quote that opens or closes a level inside a quoted value; `nil`
    /// for other text.
    ///
    /// The quote of the first level is written `\"`, and that of the second `\\\"`: level n has 2ⁿ − 1 backslashes. A
    /// quote opens a level only after an equals sign; elsewhere it is text.
    private func innerQuote(_ depth: Int, before end: Int) -> (length: Int, isOpening: Bool)? {
        let backslashes = bytes[offset..<end].prefix { $0 == UInt8(ascii: "\\") }.count
        guard backslashes > 0, offset + backslashes < end, bytes[offset + backslashes] == UInt8(ascii: "\"") else {
            return nil
        }
        // No real description has that many levels.
        guard depth < 8 else { return nil }
        if depth > 0, backslashes == 1 << depth - 1 { return (backslashes + 1, false) }
        let before = bytes[..<offset].last { !$0.isSpace }
        let isOpening = backslashes == 1 << (depth + 1) - 1 && before.map { "=)".utf8.contains($0) } ?? false
        return isOpening ? (backslashes + 1, true) : nil
    }

    /// Scans a caps filter up to the `!` after it, if one begins here. In a filter, quotes may begin anywhere.
    private mutating func scanFilter() {
        let start = offset
        skipBlanks()
        guard mediaTypeBegins() else { return }
        defer { filters.append(start..<offset) }
        var isQuoted = false
        while offset < bytes.count, bytes[offset] != UInt8(ascii: "!") {
            let byte = bytes[offset]
            let previous = bytes[offset - 1]
            if !isQuoted, let length = continuation(at: offset) {
                add(.literal("\n", offset..<offset + length))
            } else if byte == UInt8(ascii: "\\") {
                copy(min(2, bytes.count - offset))
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
                copy(1)
            } else if byte == UInt8(ascii: "#"), !isQuoted, previous.isSpace || ",;".utf8.contains(previous) {
                skipComment()
            } else if byte == UInt8(ascii: ":"), !isQuoted, previous.isSpace, offset > start + 1 {
                // A `:` ends the filter of a link between all pads.
                return
            } else {
                scanTextByte(isQuoted ? .caps : nil)
            }
        }
    }

    // MARK: Parts of tokens

    private mutating func scanTextByte(_ quotes: Quotes?) {
        if starts(with: VariableReference.escapedOpening) {
            add(.literal("${", offset..<offset + 3))
        } else if starts(with: VariableReference.opening) {
            scanVariable(quotes)
        } else {
            copy(1)
        }
    }

    private mutating func scanVariable(_ quotes: Quotes?) {
        switch VariableReference.parse(bytes, at: offset) {
        case .success(let reference): add(.variable(reference, quotes))
        case .failure(let malformed):
            problems.append(malformed.problem)
            add(.malformed(malformed.range))
        }
    }

    private mutating func skipBlanks() {
        while offset < bytes.count {
            if let length = continuation(at: offset) {
                add(.literal("\n", offset..<offset + length))
            } else if bytes[offset] == UInt8(ascii: "#") {
                skipComment()
            } else if bytes[offset].isSpace {
                copy(1)
            } else {
                return
            }
        }
    }

    private mutating func skipComment() {
        offset = bytes[offset...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
    }

    // MARK: Looking ahead

    /// Returns the length of a backslash and the line break after it, which in shells continue a line; `nil` for other
    /// text.
    private func continuation(at offset: Int) -> Int? {
        guard bytes[offset] == UInt8(ascii: "\\") else { return nil }
        if bytes[(offset + 1)...].starts(with: "\n".utf8) { return 2 }
        return bytes[(offset + 1)...].starts(with: "\r\n".utf8) ? 3 : nil
    }

    private func mediaTypeBegins() -> Bool {
        let type = bytes[offset...].prefix(while: \.isMediaTypeCharacter)
        guard !type.isEmpty, type.endIndex + 1 < bytes.count, bytes[type.endIndex] == UInt8(ascii: "/") else {
            return false
        }
        return bytes[type.endIndex + 1].isMediaTypeCharacter
            || starts(with: VariableReference.opening, type.endIndex + 1)
    }

    /// Returns the closing quote of the quoted value that begins at `start`; `nil` if GStreamer's lexer doesn't read a
    /// quoted value there. The lexer takes the longer of a quoted string and a word, and a quote after a backslash
    /// closes only if no other quote does.
    private func closingQuote(from start: Int) -> Int? {
        var closing: Int?
        var end = start + 1
        while end < bytes.count {
            if let next = endOfOpaque(end) {
                // An escaped quote.
                if bytes[next - 1] == bytes[start], bytes[end] == UInt8(ascii: "\\") { closing = next - 1 }
                end = next
                continue
            }
            if bytes[end] == bytes[start] {
                closing = end
                if bytes[end - 1] != UInt8(ascii: "\\") { break }
            }
            end += 1
        }
        guard let closing else { return nil }
        return wordEnd(from: start) > closing + 1 ? nil : closing
    }

    private func wordEnd(from start: Int) -> Int {
        var end = start
        while end < bytes.count {
            if let next = endOfOpaque(end) {
                end = next
            } else if bytes[end].isSpace, bytes[end] == UInt8(ascii: "\n") || bytes[end - 1] != UInt8(ascii: "\\") {
                break
            } else {
                end += 1
            }
        }
        return end
    }

    /// Returns the end of a variable, or of a backslash and the character that it escapes; `nil` for other text.
    private func endOfOpaque(_ offset: Int) -> Int? {
        if bytes[offset] == UInt8(ascii: "\\") {
            return offset + 1 < bytes.count && !bytes[offset + 1].isSpace ? offset + 2 : nil
        }
        if starts(with: VariableReference.escapedOpening, offset) { return offset + 3 }
        guard starts(with: VariableReference.opening, offset) else { return nil }
        return switch VariableReference.parse(bytes, at: offset) {
        case .success(let reference): reference.range.upperBound
        case .failure(let malformed): malformed.range.upperBound
        }
    }

    private func starts(with prefix: some Sequence<UInt8>, _ offset: Int? = nil) -> Bool {
        bytes[(offset ?? self.offset)...].starts(with: prefix)
    }

    // MARK: Output

    private mutating func copy(_ count: Int) {
        let range = offset..<offset + count
        offset += count
        if case .text(let last)? = pieces.last, last.upperBound == range.lowerBound {
            pieces[pieces.count - 1] = .text(last.lowerBound..<range.upperBound)
        } else {
            pieces.append(.text(range))
        }
    }

    private mutating func add(_ piece: Piece) {
        pieces.append(piece)
        switch piece {
        case .text(let range), .literal(_, let range), .malformed(let range), .openingQuote(_, let range),
            .closingQuote(_, let range):
            offset = range.upperBound
        case .variable(let reference, _): offset = reference.range.upperBound
        }
    }
}
