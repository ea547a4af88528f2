/// Everything that can go wrong in a node, a session or a graph, with what was expected and what came.
/// <doc:Errors> lists each case, with what to do.
public enum MediaGraphError: Error, Sendable, Hashable {
    /// The call is out of order, or two settings rule each other out.
    case wrongUsage(Detail)
    /// The node hasn't been initialised, or is gone.
    case uninitialized(Detail)
    /// The name is taken, the delegate is already subscribed, somebody else shares, or the node has a handler.
    case alreadyInUse(Detail)
    /// A value is impossible: a size, a length, an option, a memory mode.
    case invalidParameter(Detail)
    /// Calls come faster than the declared rate.
    case tooFrequent(Detail)
    /// One call brings more than the node takes.
    case tooMuchAtOnce(Detail)
    /// The node doesn't support this format, file, mask or library.
    case unsupported(Detail)
    /// The user's role or a permission forbids it.
    case notPermitted(Detail)
    /// The session hasn't been joined, or has been left.
    case notInSession(Detail)
    /// Nobody of that name is in the room.
    case noSuchUser(Detail)
    /// There is no camera and no external video source.
    case noVideo(Detail)
    /// The user doesn't share.
    case noShare(Detail)
    /// There is no audio source.
    case noAudio(Detail)
    /// There is no such device.
    case noDevice(Detail)
    /// Another program has opened the device.
    case deviceBusy(Detail)
    /// The device was unplugged, or has stopped answering.
    case deviceGone(Detail)
    /// Memory or a buffer pool is exhausted.
    case allocationFailed(Detail)
    /// An element or a handler failed; `actual` is its message.
    case processingFailed(Detail)
    /// The setting can't be changed while the graph runs.
    case lockedWhileRunning(Detail)
    /// Nothing came in time, or a queue stayed full.
    case timeOut(Detail)
    /// An internal error in MediaGraph.
    case internalError(Detail)

    /// What the error is about, what would have been right, and what came.
    public struct Detail: Sendable, Hashable {
        /// What the error is about: a node, an argument, a file.
        public var subject: String
        /// What would have been right; empty where `actual` says all.
        public var expected: String
        /// What came instead, or what happened.
        public var actual: String

        /// Printed as `subject: expected …, got …`, or as `subject: actual` without `expected`.
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

    /// The error with this code.
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

    /// Which error it is, without its detail.
    public var code: Code { codeAndDetail.0 }
    /// What the error is about, what was expected, and what came.
    public var detail: Detail { codeAndDetail.1 }

    /// The detail as one sentence.
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
    package static func wrapping(_ error: any Error, _ subject: String) -> MediaGraphError {
        (error as? MediaGraphError) ?? .processingFailed(Detail(subject, actual: "\(error)"))
    }
}
