import CMediaGraphABI

/// How a verdict crosses between copies of the code: as a C status, with an error beside it for `fail` and for thrown
/// errors.
extension Verdict {
    /// Converts the C status that `call` returns. Throws the error that the handler threw in the other copy.
    @inlinable @inline(__always)
    package init(_ call: (UnsafeMutablePointer<MGError>) -> Int32) throws(MediaGraphError) {
        var error = MGError()
        switch call(&error) {
        case MG_PASS: self = .pass
        case MG_DROP: self = .drop
        case MG_STOP: self = .fail(MediaGraphError(taking: error).detail.subject)
        default: throw MediaGraphError(taking: error)
        }
    }

    /// Returns the C status for the verdict of `body`. Stores an error that `body` throws; `subject` names its origin
    /// unless it is already a `MediaGraphError`.
    @inline(__always)
    static func status(
        _ error: UnsafeMutablePointer<MGError>?, _ subject: String, _ body: () throws -> Verdict
    ) -> Int32 {
        do {
            switch try body() {
            case .pass: return MG_PASS
            case .drop: return MG_DROP
            case .fail(let reason):
                MediaGraphError.processingFailed(.init(reason)).store(in: error)
                return MG_STOP
            }
        } catch let thrown {
            MediaGraphError.wrapping(thrown, subject).store(in: error)
            return MG_FAILED
        }
    }
}
