import GStreamer

/// Errors as graphs tell them: on the bus, and when they don't start.
extension MediaGraphError {
    private static let detailsName = "mediagraph-error"

    /// For an element's error message.
    var details: Structure {
        Structure(
            Self.detailsName,
            [
                ("code", code.rawValue), ("subject", detail.subject), ("expected", detail.expected),
                ("actual", detail.actual),
            ])
    }

    /// `nil` for details that are somebody else's.
    init?(details: Structure) {
        guard details.name == Self.detailsName, let code = details["code", as: Int32.self].flatMap(Code.init) else {
            return nil
        }
        self.init(
            code,
            Detail(
                details["subject"] ?? "", expected: details["expected"] ?? "", actual: details["actual"] ?? ""))
    }

    /// Why `subject` couldn't begin.
    init(_ error: GraphError, _ subject: String) {
        switch error {
        case .failed(let failure):
            self = failure.cause ?? MediaGraphError(Code(failure.error), Detail(subject, actual: "\(failure)"))
        case .stopped: self = .notInSession(Detail(subject, actual: "it was stopped before it had begun"))
        case .wrongUsage(let text): self = .wrongUsage(Detail(subject, actual: text))
        default: self = .internalError(Detail(subject, actual: "\(error)"))
        }
    }
}

extension MediaGraphError.Code {
    /// What a stock element means by its error.
    fileprivate init(_ error: GLibError) {
        switch ElementProblem(error) {
        case .notFound, .openRead, .openWrite, .openReadWrite: self = .noDevice
        case .busy: self = .deviceBusy
        case .notAuthorized: self = .notPermitted
        case .notNegotiated, .wrongFormat: self = .unsupported
        default: self = .processingFailed
        }
    }
}
