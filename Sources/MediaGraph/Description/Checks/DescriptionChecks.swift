import GStreamer

/// All checks of a parsed description that need nothing but GStreamer's registry and classes.
enum DescriptionChecks {
    static func problems(in parsed: ParsedDescription) -> [Problem] { problems(in: CheckContext(parsed)) }

    static func problems(in context: CheckContext) -> [Problem] {
        context.parsed.problems + ElementCheck.problems(in: context) + PropertyCheck.problems(in: context)
            + NameCheck.problems(in: context) + LinkCheck.problems(in: context) + LoopCheck.problems(in: context)
            + CapsFieldCheck.problems(in: context) + SessionCheck.problems(in: context)
    }
}
