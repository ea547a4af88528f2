import GStreamer

/// All checks of a parsed description that need nothing but GStreamer's registry and classes.
enum DescriptionChecks {
    static func problems(in parsed: ParsedDescription) -> [Problem] { problems(in: CheckContext(parsed)) }

    static func problems(in context: CheckContext) -> [Problem] {
        context.parsed.problems + ElementCheck.problems(in: context) + PropertyCheck.problems(in: context)
            + NameCheck.problems(in: context) + linkProblems(in: context) + LoopCheck.problems(in: context)
            + MissingDecoderCheck.problems(in: context)
            + SharedPadCheck.problems(in: context) + LostStreamCheck.problems(in: context)
            + BitRateCheck.problems(in: context) + URICheck.problems(in: context)
    }

    /// An invalid caps value can't link anywhere, so its link errors are left out.
    private static func linkProblems(in context: CheckContext) -> [Problem] {
        let fields = CapsFieldCheck.problems(in: context)
        let wrong = fields.filter { $0.severity == .error }.compactMap(\.expandedRange)
        return LinkCheck.problems(in: context).filter { link in
            !wrong.contains { link.expandedRange?.contains($0.lowerBound) ?? false }
        } + fields
    }
}
