import MediaGraphDescription

/// Checks of handlers, files and host names, which several elements have.
package enum SharedChecks {
    package static func all(
        isBeforeRun: Bool, isComplete: Bool, besides files: [FileUse]
    ) -> [any DescriptionCheck] {
        let checks: [any DescriptionCheck] = [
            HandlerCheck(), FileConflictCheck(others: files), HomeFolderCheck(), StandardStreamCheck(),
        ]
        return checks + (isBeforeRun ? [] : [FileCheck()]) + (isComplete ? [HostCheck()] : [])
    }
}
