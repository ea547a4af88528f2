import GStreamer
import MediaGraphCore

/// Errors of graphs that don't start.
extension MediaGraphError {
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
