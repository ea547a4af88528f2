/// A problem that a check has found, with offsets that ``Locator`` converts to lines and columns.
struct Problem: Sendable, Hashable {
    enum Place: Sendable, Hashable {
        /// Offsets in the text as written.
        case source(Range<Int>)
        /// Offsets in the expanded text.
        case expanded(Range<Int>)
    }

    var place: Place
    var severity = Diagnostic.Severity.error
    var message: String
    var hint: String?
    /// Whether the problem remains even if GStreamer's parser accepts the description. Pad templates and the text don't
    /// show everything that an element does when it is created, so a finding based on them may be wrong; it is dropped
    /// if GStreamer's parser accepts the description.
    var isCertain = true

    var expandedRange: Range<Int>? { if case .expanded(let range) = place { range } else { nil } }
}
