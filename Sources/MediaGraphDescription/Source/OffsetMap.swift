/// Maps each part of the expanded text to its place in the source.
struct OffsetMap: Sendable {
    /// A variable and the value that replaced it.
    struct Expansion: Sendable, Hashable {
        /// The context of a variable, which the text before it shows: inside quotes, within a word, as a property's
        /// value, or by itself.
        enum Context: Sendable { case quoted, word, value, alone }

        let name: String
        let value: String
        var context = Context.quoted

        /// The hint for a value that was probably intended as one word and was split at its spaces; `nil` for others.
        var hint: String? {
            let words = value.split(whereSeparator: \.isWhitespace)
            // A value with properties or links is intended as several tokens.
            guard words.count > 1, !words.dropFirst().contains(where: { $0.contains("=") || $0 == "!" }) else {
                return nil
            }
            switch context {
            case .value: return "write the variable in quotes: \"${\(name)}\""
            case .word: return "if it is part of a pad's name, set \(name)=\(PadName.escape(value))"
            case .quoted, .alone: return nil
            }
        }
    }

    private struct Segment {
        let start: Int
        let source: Range<Int>
        /// Whether the text is copied from the source unchanged, so that offsets within it correspond.
        let isVerbatim: Bool
        let expansion: Expansion?
    }

    private var segments: [Segment] = []

    mutating func append(at start: Int, from source: Range<Int>, isVerbatim: Bool, expansion: Expansion? = nil) {
        segments.append(Segment(start: start, source: source, isVerbatim: isVerbatim, expansion: expansion))
    }

    /// Removes the entries at and after an offset, whose text is rewritten.
    mutating func truncate(to start: Int) {
        segments.removeAll { $0.start >= start }
    }

    /// Returns the source range of a range in the expanded text, and the variables whose values the range contains.
    func source(of range: Range<Int>) -> (range: Range<Int>, expansions: [Expansion]) {
        guard !segments.isEmpty else { return (0..<0, []) }
        let first = index(of: range.lowerBound)
        let last = range.isEmpty ? first : index(of: range.upperBound - 1)
        let lower = start(of: range.lowerBound, in: segments[first])
        let end = end(of: range.upperBound, in: segments[last])
        var expansions: [Expansion] = []
        for expansion in segments[first...last].compactMap(\.expansion) where !expansions.contains(expansion) {
            expansions.append(expansion)
        }
        return (lower..<max(lower, range.isEmpty ? lower : end), expansions)
    }

    private func start(of offset: Int, in segment: Segment) -> Int {
        guard segment.isVerbatim else { return segment.source.lowerBound }
        return min(segment.source.lowerBound + offset - segment.start, segment.source.upperBound)
    }

    private func end(of offset: Int, in segment: Segment) -> Int {
        guard segment.isVerbatim else { return segment.source.upperBound }
        return min(segment.source.lowerBound + offset - segment.start, segment.source.upperBound)
    }

    private func index(of offset: Int) -> Int {
        var low = 0
        var high = segments.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if segments[middle].start <= offset { low = middle } else { high = middle }
        }
        return low
    }
}
