import MediaGraphDescription

/// Checks of handlers and files, whichever node has them.
package enum ElementChecks {
    package static func all(
        isBeforeRun: Bool, isComplete: Bool, besides files: [FileUse]
    ) -> [any DescriptionCheck] {
        let checks: [any DescriptionCheck] = [
            HandlerCheck(), FileConflictCheck(others: files), HomeFolderCheck(), StandardStreamCheck(),
        ]
        return checks + (isBeforeRun ? [] : [FileCheck()]) + (isComplete ? [HostCheck()] : [])
    }
}
