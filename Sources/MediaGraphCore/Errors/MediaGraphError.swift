/// The errors of nodes, sessions and graphs. Each says what it is about, what was expected, and what happened.
/// <doc:Errors> lists each case, with what to do.
public enum MediaGraphError: Error, Sendable, Hashable {
    /// The call is out of order, or two settings exclude each other.
    case wrongUsage(Detail)
    /// The node hasn't been initialized, or is gone.
    case uninitialized(Detail)
    /// The name is taken, the delegate is already subscribed, another user is sharing, or the node already has a
    /// handler.
    case alreadyInUse(Detail)
    /// A value is impossible: a size, a length, an option, a memory mode.
    case invalidParameter(Detail)
    /// Calls arrive faster than the declared rate, or a command's recipient is in a program that has stopped receiving.
    case tooFrequent(Detail)
    /// One call passes more data than the node accepts at once.
    case tooMuchAtOnce(Detail)
    /// The node doesn't support this format, file, mask or library.
    case unsupported(Detail)
    /// The user's role or a permission forbids it.
    case notPermitted(Detail)
    /// The session hasn't been joined, or has been left.
    case notInSession(Detail)
    /// No user of that name is in the room.
    case noSuchUser(Detail)
    /// There is no camera and no external video source.
    case noVideo(Detail)
    /// The user isn't sharing.
    case noShare(Detail)
    /// There is no audio source.
    case noAudio(Detail)
    /// There is no such device.
    case noDevice(Detail)
    /// The device is in use by another program.
    case deviceBusy(Detail)
    /// The device was disconnected, or stopped responding.
    case deviceGone(Detail)
    /// Memory or a buffer pool is exhausted.
    case allocationFailed(Detail)
    /// An element or a handler failed; `actual` is its message.
    case processingFailed(Detail)
    /// The setting can't be changed while the graph runs.
    case lockedWhileRunning(Detail)
    /// Nothing arrived in time, or a queue stayed full.
    case timeOut(Detail)
    /// An internal error in MediaGraph.
    case internalError(Detail)
    /// A server can't be reached, or the connection to it was lost.
    case unreachable(Detail)

    /// What an error is about, what was expected, and what happened.
    ///
    /// The text of a detail with an expected value is `subject: expected …, got …`. Otherwise `actual` says what
    /// happened: if it begins with a verb, such as `is` or `can't`, it continues the sentence that `subject` begins;
    /// any other text follows a colon.
    public struct Detail: Sendable, Hashable {
        /// What the error is about: a node, an argument, a file.
        public var subject: String
        /// The value that would have been right; empty if `actual` says everything.
        public var expected: String
        /// The value that was found instead, or what happened.
        public var actual: String

        /// Creates a detail.
        public init(_ subject: String, expected: String = "", actual: String = "") {
            self.subject = subject
            self.expected = expected
            self.actual = actual
        }

        /// The verbs with which the texts in `actual` begin, in addition to those that end in "n't".
        private static let verbs: Set<Substring> = [
            "already", "belongs", "contains", "ends", "failed", "had", "has", "is", "left", "must", "needs",
            "processes", "sends", "sent", "was",
        ]

        /// The detail as one line of text.
        var text: String {
            guard expected.isEmpty else {
                return "\(subject): expected \(expected)" + (actual.isEmpty ? "" : ", got \(actual)")
            }
            if actual.isEmpty { return subject }
            let word = actual.prefix { $0 != " " }
            let isPredicate = word.hasSuffix("n't") || Self.verbs.contains(word)
            return subject + (isPredicate ? " " : ": ") + actual
        }
    }
}

extension MediaGraphError: CustomStringConvertible {
    /// An error's case without its detail. The raw values cross between copies of the code.
    public enum Code: Int32, Sendable, CaseIterable {
        case wrongUsage = 1
        case uninitialized, alreadyInUse, invalidParameter, tooFrequent, tooMuchAtOnce, unsupported, notPermitted,
            notInSession, noSuchUser, noVideo, noShare, noAudio, noDevice, deviceBusy, deviceGone, allocationFailed,
            processingFailed, lockedWhileRunning, timeOut, internalError, unreachable
    }

    /// Creates the error of a code.
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
        case .unreachable: self = .unreachable(detail)
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
        case .unreachable(let detail): (.unreachable, detail)
        }
    }

    /// The error's case, without its detail.
    public var code: Code { codeAndDetail.0 }
    /// What the error is about, what was expected, and what happened.
    public var detail: Detail { codeAndDetail.1 }

    /// The detail as one line of text.
    public var description: String { detail.text }
}

extension MediaGraphError {
    /// Returns a `MediaGraphError` unchanged. Any other error becomes `processingFailed`, with its own text as
    /// `actual`.
    package static func wrapping(_ error: any Error, _ subject: String) -> MediaGraphError {
        (error as? MediaGraphError) ?? .processingFailed(Detail(subject, actual: "\(error)"))
    }
}
