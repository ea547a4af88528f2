import MediaGraphDescription
import MediaGraphDevices
import MediaGraphElements
import MediaGraphHandlers

/// The checks of a description that need more than GStreamer's registry: those of the nodes, of handlers and of files.
enum NodeChecks {
    /// - Parameters:
    ///   - isBeforeRun: whether to skip checks whose problems the run itself reports.
    ///   - isComplete: whether to include checks that may query a name server, which a program's thread shouldn't wait for.
    ///   - files: files that the program uses in addition to the description's.
    static func all(isBeforeRun: Bool, isComplete: Bool, besides files: [FileUse]) -> [any DescriptionCheck] {
        SharedChecks.all(isBeforeRun: isBeforeRun, isComplete: isComplete, besides: files) + KnownNodes.checks
            + [DisplayCheck(), FontCheck(), ShellValueCheck()]
    }
}
