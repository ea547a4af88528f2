import GStreamer

/// Why two pads have no format in common, in a line.
struct FormatConflict {
    private let message: String
    private let hint: String

    /// `nil` when there is a format that both sides and the filter between them allow.
    init?(from source: Caps, to sink: Caps, filter: Caps?, labels: (source: String, sink: String)) {
        guard let filter else {
            if source.canIntersect(sink) { return nil }
            message = "\(labels.source) can't be linked to \(labels.sink)"
            hint = Self.difference(source, sink, "\(labels.source) gives", "\(labels.sink) takes")
            return
        }
        let offered = source.intersection(filter)
        if offered.isEmpty {
            message = "\(labels.source) can't give \(Self.short(filter.description))"
            hint = Self.difference(source, filter, "it gives", "the filter allows")
        } else if !filter.canIntersect(sink) {
            message = "\(labels.sink) can't take \(Self.short(filter.description))"
            hint = Self.difference(filter, sink, "the filter allows", "it takes")
        } else if !offered.canIntersect(sink) {
            message = "\(labels.source) can't be linked to \(labels.sink) through this filter"
            hint = Self.difference(offered, sink, "\(labels.source) gives through it", "\(labels.sink) takes")
        } else {
            return nil
        }
    }

    var text: String { "\(message): \(hint)" }

    func problem(at range: Range<Int>) -> Problem {
        Problem(place: .expanded(range), message: message, hint: hint, isCertain: false)
    }

    /// Both sides, by the fields that differ where the media types agree.
    static func difference(_ a: Caps, _ b: Caps, _ aDoes: String, _ bDoes: String) -> String {
        let conflicts = a.conflicts(with: b)
        guard !conflicts.isEmpty else { return "\(aDoes) \(types(a)), \(bDoes) \(types(b))" }
        let mine = conflicts.map { "\($0.field)=\(short($0.values))" }.joined(separator: ",")
        let theirs = conflicts.map { "\($0.field)=\(short($0.otherValues))" }.joined(separator: ",")
        return "\(aDoes) \(mine), \(bDoes) \(theirs)"
    }

    private static func types(_ caps: Caps) -> String {
        let types = caps.mediaTypes
        return types.isEmpty ? "nothing" : types.prefix(4).joined(separator: ", ") + (types.count > 4 ? ", …" : "")
    }

    /// A demultiplexer's caps fill a screen.
    private static func short(_ text: String) -> String {
        let text = text.replacing("(string)", with: "").replacing("(int)", with: "").replacing("(fraction)", with: "")
        return text.count <= 60 ? text : text.prefix(58) + "…"
    }
}
