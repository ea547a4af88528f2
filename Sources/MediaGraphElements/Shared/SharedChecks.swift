import MediaGraphDescription

/// The checks of handlers, files and host names, which apply to several elements.
package enum SharedChecks {
    /// Returns the checks.
    ///
    /// - Parameters:
    ///   - isBeforeRun: whether to skip checks whose problems the run itself reports.
    ///   - isComplete: whether to include checks that may query a name server, which a program's thread shouldn't wait
    ///     for.
    ///   - files: files that the program uses in addition to the description's.
    package static func all(
        isBeforeRun: Bool, isComplete: Bool, besides files: [FileUse]
    ) -> [any DescriptionCheck] {
        let checks: [any DescriptionCheck] = [
            HandlerCheck(), FileConflictCheck(others: files), HomeFolderCheck(), StandardStreamCheck(),
        ]
        return checks + (isBeforeRun ? [] : [FileCheck()]) + (isComplete ? [HostCheck()] : [])
    }
}
