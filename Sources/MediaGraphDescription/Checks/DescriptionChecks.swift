import GStreamer

/// Runs the checks of a parsed description that need only GStreamer's registry and classes.
enum DescriptionChecks {
    /// Returns the problems of a description that is the value of a property.
    static func problems(in nested: ParsedDescription) -> [Problem] {
        problems(in: CheckContext(nested, isNested: true))
    }

    static func problems(in context: CheckContext) -> [Problem] {
        context.parsed.problems + ElementCheck.problems(in: context) + PropertyCheck.problems(in: context)
            + NameCheck.problems(in: context) + linkProblems(in: context) + LoopCheck.problems(in: context)
            + MissingDecoderCheck.problems(in: context)
            + SharedPadCheck.problems(in: context) + LostStreamCheck.problems(in: context)
            + BitRateCheck.problems(in: context) + URICheck.problems(in: context)
    }

    /// Returns the problems of links and of caps. A filter with an invalid value can't be linked at all, so the errors
    /// of its link are left out.
    private static func linkProblems(in context: CheckContext) -> [Problem] {
        let fields = CapsFieldCheck.problems(in: context)
        let wrong = fields.filter { $0.severity == .error }.compactMap(\.expandedRange)
        return LinkCheck.problems(in: context).filter { link in
            !wrong.contains { link.expandedRange?.contains($0.lowerBound) ?? false }
        } + fields
    }
}
