import GStreamer

/// All checks of a parsed description that need nothing but GStreamer's registry and classes.
enum DescriptionChecks {
    static func problems(in parsed: ParsedDescription) -> [Problem] {
        let context = CheckContext(parsed)
        return parsed.problems + ElementCheck.problems(in: context) + PropertyCheck.problems(in: context)
            + NameCheck.problems(in: context) + LinkCheck.problems(in: context) + LoopCheck.problems(in: context)
    }
}
