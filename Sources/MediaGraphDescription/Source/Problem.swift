/// Something wrong that a pass found, before its place is known in lines and columns.
struct Problem: Sendable, Hashable {
    enum Place: Sendable, Hashable {
        /// Offsets in the text as it was written.
        case source(Range<Int>)
        /// Offsets in the expanded text.
        case expanded(Range<Int>)
    }

    var place: Place
    var severity = Diagnostic.Severity.error
    var message: String
    var hint: String?
    /// Whether it holds whatever GStreamer says. Templates and names in the text can't tell all that an element does
    /// when it is made, so some findings yield where GStreamer's own parser accepts the description.
    var isCertain = true

    var expandedRange: Range<Int>? { if case .expanded(let range) = place { range } else { nil } }
}
