/// Converts offsets to lines and columns of the source.
struct Locator: Sendable {
    let source: SourceText
    let map: OffsetMap

    func sourceRange(of place: Problem.Place) -> Range<Int> {
        switch place {
        case .source(let range): range
        case .expanded(let range): map.source(of: range).range
        }
    }

    /// Returns the variable whose value or default contains this part of the expanded text; `nil` if there is none.
    func variable(at range: Range<Int>) -> String? {
        let place = map.source(of: range)
        if let expansion = place.expansions.first { return expansion.name }
        let before = source.bytes[..<place.range.lowerBound]
        let brace = before.lastIndex { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }
        guard let brace, brace > before.startIndex, before[brace - 1] == UInt8(ascii: "$") else { return nil }
        let text = String(decoding: before[brace...], as: UTF8.self)
        return text.prefixMatch(of: /\{([A-Za-z_][A-Za-z_0-9]*):-/).map { String($0.1) }
    }

    func diagnostic(_ problem: Problem) -> Diagnostic {
        let range = sourceRange(of: problem.place)
        var hint = problem.hint
        if case .expanded(let expanded) = problem.place {
            // The source line shows only the variable's name, so the hint shows its value.
            for expansion in map.source(of: expanded).expansions {
                let note = "${\(expansion.name)} is \"\(expansion.value.shortened)\""
                hint = expansion.hint ?? hint
                hint = hint.map { "\($0) (\(note))" } ?? note
            }
        }
        return Diagnostic(
            severity: problem.severity, message: problem.message.shortened, range: source.range(range), hint: hint,
            sourceLine: source.line(of: range))
    }
}

extension String {
    /// The string, cut to 160 characters. Messages quote the text, which may have any length.
    fileprivate var shortened: String { count <= 160 ? self : prefix(159) + "…" }
}
