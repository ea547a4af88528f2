import GStreamer

/// Errors in the details of error messages on the bus.
extension MediaGraphError {
    private static let detailsName = "mediagraph-error"

    /// The error as the details of an element's error message.
    package var details: Structure {
        Structure(
            Self.detailsName,
            [
                ("code", code.rawValue), ("subject", detail.subject), ("expected", detail.expected),
                ("actual", detail.actual),
            ])
    }

    /// `nil` if the details weren't written by ``details``.
    package init?(details: Structure) {
        guard details.name == Self.detailsName, let code = details["code", as: Int32.self].flatMap(Code.init) else {
            return nil
        }
        self.init(
            code,
            Detail(
                details["subject"] ?? "", expected: details["expected"] ?? "", actual: details["actual"] ?? ""))
    }
}
