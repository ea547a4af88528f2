/// Everything that can go wrong in a node, a session or a graph, with what was expected and what came.
/// <doc:Errors> lists each case, with what to do.
public enum MediaGraphError: Error, Sendable, Hashable {
    case wrongUsage(Detail)
    case uninitialized(Detail)
    case alreadyInUse(Detail)
    case invalidParameter(Detail)
    case tooFrequent(Detail)
    case tooMuchAtOnce(Detail)
    case unsupported(Detail)
    case notPermitted(Detail)
    case notInSession(Detail)
    case noSuchUser(Detail)
    case noVideo(Detail)
    case noShare(Detail)
    case noAudio(Detail)
    case noDevice(Detail)
    case deviceBusy(Detail)
    case deviceGone(Detail)
    case allocationFailed(Detail)
    case processingFailed(Detail)
    case lockedWhileRunning(Detail)
    case timeOut(Detail)
    case internalError(Detail)

    /// What the error is about, what would have been right, and what came.
    public struct Detail: Sendable, Hashable {
        public var subject: String
        public var expected: String
        public var actual: String

        public init(_ subject: String, expected: String = "", actual: String = "") {
            self.subject = subject
            self.expected = expected
            self.actual = actual
        }
    }
}

extension MediaGraphError: CustomStringConvertible {
    /// The error's name without its detail: what crosses between copies of the code.
    public enum Code: Int32, Sendable, CaseIterable {
        case wrongUsage = 1
        case uninitialized, alreadyInUse, invalidParameter, tooFrequent, tooMuchAtOnce, unsupported, notPermitted,
            notInSession, noSuchUser, noVideo, noShare, noAudio, noDevice, deviceBusy, deviceGone, allocationFailed,
            processingFailed, lockedWhileRunning, timeOut, internalError
    }

    public init(_ code: Code, _ detail: Detail) {
        switch code {
        case .wrongUsage: self = .wrongUsage(detail)
        case .uninitialized: self = .uninitialized(detail)
        case .alreadyInUse: self = .alreadyInUse(detail)
        case .invalidParameter: self = .invalidParameter(detail)
        case .tooFrequent: self = .tooFrequent(detail)
        case .tooMuchAtOnce: self = .tooMuchAtOnce(detail)
        case .unsupported: self = .unsupported(detail)
        case .notPermitted: self = .notPermitted(detail)
        case .notInSession: self = .notInSession(detail)
        case .noSuchUser: self = .noSuchUser(detail)
        case .noVideo: self = .noVideo(detail)
        case .noShare: self = .noShare(detail)
        case .noAudio: self = .noAudio(detail)
        case .noDevice: self = .noDevice(detail)
        case .deviceBusy: self = .deviceBusy(detail)
        case .deviceGone: self = .deviceGone(detail)
        case .allocationFailed: self = .allocationFailed(detail)
        case .processingFailed: self = .processingFailed(detail)
        case .lockedWhileRunning: self = .lockedWhileRunning(detail)
        case .timeOut: self = .timeOut(detail)
        case .internalError: self = .internalError(detail)
        }
    }

    private var codeAndDetail: (Code, Detail) {
        switch self {
        case .wrongUsage(let detail): (.wrongUsage, detail)
        case .uninitialized(let detail): (.uninitialized, detail)
        case .alreadyInUse(let detail): (.alreadyInUse, detail)
        case .invalidParameter(let detail): (.invalidParameter, detail)
        case .tooFrequent(let detail): (.tooFrequent, detail)
        case .tooMuchAtOnce(let detail): (.tooMuchAtOnce, detail)
        case .unsupported(let detail): (.unsupported, detail)
        case .notPermitted(let detail): (.notPermitted, detail)
        case .notInSession(let detail): (.notInSession, detail)
        case .noSuchUser(let detail): (.noSuchUser, detail)
        case .noVideo(let detail): (.noVideo, detail)
        case .noShare(let detail): (.noShare, detail)
        case .noAudio(let detail): (.noAudio, detail)
        case .noDevice(let detail): (.noDevice, detail)
        case .deviceBusy(let detail): (.deviceBusy, detail)
        case .deviceGone(let detail): (.deviceGone, detail)
        case .allocationFailed(let detail): (.allocationFailed, detail)
        case .processingFailed(let detail): (.processingFailed, detail)
        case .lockedWhileRunning(let detail): (.lockedWhileRunning, detail)
        case .timeOut(let detail): (.timeOut, detail)
        case .internalError(let detail): (.internalError, detail)
        }
    }

    public var code: Code { codeAndDetail.0 }
    public var detail: Detail { codeAndDetail.1 }

    public var description: String {
        let detail = detail
        var text = detail.subject
        if !detail.expected.isEmpty { text += ": expected \(detail.expected)" }
        if !detail.actual.isEmpty { text += detail.expected.isEmpty ? ": \(detail.actual)" : ", got \(detail.actual)" }
        return text
    }
}

extension MediaGraphError {
    /// Any error as one of ours: somebody else's is a failure in processing, with its own text.
    static func wrapping(_ error: any Error, _ subject: String) -> MediaGraphError {
        (error as? MediaGraphError) ?? .processingFailed(Detail(subject, actual: "\(error)"))
    }
}
