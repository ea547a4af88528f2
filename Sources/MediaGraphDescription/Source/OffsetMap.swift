/// Where each part of the expanded text came from.
struct OffsetMap: Sendable {
    /// What a variable stands for at one place.
    struct Expansion: Sendable, Hashable {
        /// What a variable outside quotes is part of, going by what is written before it.
        enum Place: Sendable { case quoted, word, value, alone }

        let name: String
        let value: String
        var place = Place.quoted

        /// What to do where the value was meant to be one, and fell apart at its spaces.
        var hint: String? {
            let words = value.split(whereSeparator: \.isWhitespace)
            // Properties and links: meant to be several.
            guard words.count > 1, !words.dropFirst().contains(where: { $0.contains("=") || $0 == "!" }) else {
                return nil
            }
            switch place {
            case .value: return "put quotes around \"${\(name)}\""
            case .word: return "in a pad's name it is written \(name)=\(PadName.escape(value))"
            case .quoted, .alone: return nil
            }
        }
    }

    private struct Segment {
        let start: Int
        let source: Range<Int>
        /// Whether the text is the source's own, so that offsets inside carry over.
        let isVerbatim: Bool
        let expansion: Expansion?
    }

    private var segments: [Segment] = []

    mutating func append(at start: Int, from source: Range<Int>, isVerbatim: Bool, expansion: Expansion? = nil) {
        segments.append(Segment(start: start, source: source, isVerbatim: isVerbatim, expansion: expansion))
    }

    /// Drops what was noted at and after an offset, for text that is written again.
    mutating func truncate(to start: Int) {
        segments.removeAll { $0.start >= start }
    }

    /// The source of a range, and the variables that it was expanded from.
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
