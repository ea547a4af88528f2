/// `${NAME}` or `${NAME:-default}` in a description's source.
struct VariableReference: Sendable {
    /// A part of a default.
    enum DefaultPart: Sendable {
        case text(Range<Int>)
        /// Text that replaces the source: `${` for `$${`, and `}` for `\}`.
        case literal(String, Range<Int>)
        case variable(VariableReference)
    }

    let name: String
    /// The range from the dollar sign to the closing brace.
    let range: Range<Int>
    /// The parts of the default; `nil` without a default.
    let defaultParts: [DefaultPart]?
    /// The range of the default as written.
    let defaultRange: Range<Int>?

    static let opening = Array("${".utf8)
    static let escapedOpening = Array("$${".utf8)

    /// The limit for variables nested in each other's defaults. Deeper nesting is a mistake, and could overflow the
    /// stack.
    private static let maximumDepth = 32

    /// Parses the reference at `offset`, which is the offset of a `${`.
    static func parse(_ bytes: [UInt8], at offset: Int, depth: Int = 0) -> Result<VariableReference, Malformed> {
        var end = offset + 2
        while end < bytes.count, bytes[end].isLetter || bytes[end].isDigit || bytes[end] == UInt8(ascii: "_") {
            end += 1
        }
        let name = bytes[offset + 2..<end].text
        guard let first = name.utf8.first, !first.isDigit else {
            return .failure(malformed(bytes, offset, end, "a variable's name consists of letters, digits and _"))
        }
        guard end < bytes.count else {
            return .failure(malformed(bytes, offset, end, "a variable ends with \"}\""))
        }
        if bytes[end] == UInt8(ascii: "}") {
            return .success(
                VariableReference(name: name, range: offset..<end + 1, defaultParts: nil, defaultRange: nil))
        }
        guard bytes[end...].starts(with: ":-".utf8) else {
            return .failure(malformed(bytes, offset, end, "write ${\(name)} or ${\(name):-default}"))
        }
        guard depth < maximumDepth else {
            return .failure(malformed(bytes, offset, end, "nest fewer variables in each other's defaults"))
        }
        return parseDefault(bytes, offset, name, from: end + 2, depth: depth)
    }

    private static func parseDefault(
        _ bytes: [UInt8], _ offset: Int, _ name: String, from start: Int, depth: Int
    ) -> Result<VariableReference, Malformed> {
        var parts: [DefaultPart] = []
        var textStart = start
        var end = start
        func flush(to end: Int) { if end > textStart { parts.append(.text(textStart..<end)) } }
        while end < bytes.count {
            if bytes[end] == UInt8(ascii: "}") {
                flush(to: end)
                return .success(
                    VariableReference(
                        name: name, range: offset..<end + 1, defaultParts: parts, defaultRange: start..<end))
            }
            var next = end + 1
            if bytes[end...].starts(with: "\\}".utf8) {
                next = end + 2
                flush(to: end)
                parts.append(.literal("}", end..<next))
                textStart = next
            } else if bytes[end...].starts(with: escapedOpening) {
                next = end + 3
                flush(to: end)
                parts.append(.literal("${", end..<next))
                textStart = next
            } else if bytes[end...].starts(with: opening) {
                switch parse(bytes, at: end, depth: depth + 1) {
                case .success(let nested):
                    next = nested.range.upperBound
                    flush(to: end)
                    parts.append(.variable(nested))
                    textStart = next
                case .failure(let malformed): return .failure(malformed)
                }
            }
            end = next
        }
        return .failure(malformed(bytes, offset, start, "a variable ends with \"}\""))
    }

    /// Text that begins like a variable and isn't one.
    struct Malformed: Error {
        let range: Range<Int>
        let problem: Problem
    }

    private static func malformed(_ bytes: [UInt8], _ start: Int, _ end: Int, _ hint: String) -> Malformed {
        // Include the rest of the word if it contains the closing brace.
        let word = bytes[end...].prefix(200).prefix { !$0.isSpace }
        let end = word.firstIndex(of: UInt8(ascii: "}")).map { $0 + 1 } ?? end
        return Malformed(
            range: start..<end,
            problem: Problem(
                place: .source(start..<end), message: "not a variable: \"\(bytes[start..<end].text)\"",
                hint: "\(hint); for the characters themselves write $${"))
    }
}
