import MediaGraphDescription
import MediaGraphDevices
import MediaGraphElements
import MediaGraphHandlers

/// The checks of a description that need more than GStreamer's registry: those of nodes, handlers and files.
enum NodeChecks {
    /// Returns the checks.
    ///
    /// - Parameters:
    ///   - isBeforeRun: Whether to skip checks whose problems the run itself reports.
    ///   - isComplete: Whether to include checks that may query a name server, which a program's thread shouldn't wait
    ///     for.
    ///   - files: The files that the program uses in addition to the description's.
    static func all(isBeforeRun: Bool, isComplete: Bool, besides files: [FileUse]) -> [any DescriptionCheck] {
        SharedChecks.all(isBeforeRun: isBeforeRun, isComplete: isComplete, besides: files) + KnownNodes.checks
            + [DisplayCheck(), FontCheck(), ShellValueCheck(), ShortTimeCheck()]
    }
}
