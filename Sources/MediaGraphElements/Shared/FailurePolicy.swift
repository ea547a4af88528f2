import GStreamer
import MediaGraphCore

/// What happens to a frame, or to a block of sound, whose handler throws: the property `on-error` of the nodes.
public enum FailurePolicy: Int32, PropertyEnum {
    /// The graph ends with the handler's error.
    case stop
    /// The frame continues. From the handler's first failure on, the node copies each video frame before the handler
    /// edits it, so that a later frame whose handler throws continues unedited. The first one, and a block of sound,
    /// continues as the handler left it.
    case pass
    /// The frame is dropped. A dropped block of sound is replaced with silence where the stream continues.
    case drop
    /// The handler gets nothing more until the graph is started again. This frame, as the handler left it, and all later
    /// ones continue.
    case detach

    /// The enumeration's name in GObject's type system.
    public static let typeName = "MediaGraphFailurePolicy"
    /// The value's description, as `inspect` prints it.
    public var blurb: String {
        switch self {
        case .stop: "The graph ends with the handler's error"
        case .pass: "The frame continues, unedited from the handler's second failure on"
        case .drop: "The frame is dropped"
        case .detach: "The handler gets no more frames until the graph is started again; all frames continue"
        }
    }

    /// Counts a frame on which a filter's handler failed, and returns what becomes of it.
    func settle(_ statistics: NodeStatistics) -> FlowReturn {
        switch self {
        case .stop: return .error
        case .pass, .detach:
            statistics.countFrame()
            return .ok
        case .drop:
            statistics.countDrop()
            return .dropped
        }
    }
}

/// Counts and reports the failures of one handler. Used by one thread at a time.
///
/// Reports each different error once, and at most four of them; the counter `failed` counts every failure.
struct FailedFrames {
    /// What a handler failed on.
    struct Subject {
        /// The handler, such as "handler blur".
        let handler: String
        /// Whether the handler threw, and not the preparation of a frame for it.
        var hasThrown = true
        /// The stream, such as "bob's video"; `nil` if it isn't a user's.
        var stream: String?
        /// "frame" or "block"; `nil` if the handler failed at the end of the stream.
        var media: String? = "frame"

        fileprivate var text: String {
            "\(handler)\(hasThrown ? " failed" : "")\(stream.map { " on \($0)" } ?? "")"
        }

        fileprivate func cost(_ policy: FailurePolicy) -> String {
            switch (policy, media) {
            case (.stop, _), (.pass, nil), (.drop, nil): ""
            case (.pass, let media?): "; the \(media) continues"
            case (.drop, let media?): "; the \(media) is dropped"
            case (.detach, let media):
                "; the handler gets no more \(media ?? "frame")s until the graph is started again"
            }
        }
    }

    /// The number of different errors that are reported. A handler may put the number of the frame into its error.
    private static let limit = 4

    private var reported: [MediaGraphError] = []
    private var hasStopped = false

    /// Counts a failure and reports it: as an error with `stop`, and otherwise as a warning that says what it costs.
    mutating func add(
        _ error: MediaGraphError, _ problem: ElementProblem = .processing, of subject: @autoclosure () -> Subject,
        _ policy: FailurePolicy,
        _ statistics: NodeStatistics,
        _ element: Element, _ log: DebugCategory
    ) {
        // Most failures are only counted, so their texts aren't made.
        func text() -> String {
            let subject = subject()
            return "\(element.name): \(subject.text): \(error)\(subject.cost(policy))"
        }
        guard policy != .stop else {
            // Only one error, even if several calls fail.
            if !hasStopped { element.postError(problem, text()) }
            hasStopped = true
            return
        }
        statistics.failed.wrappingAdd(1, ordering: .relaxed)
        log.log(.warning, element, text())
        guard reported.count < Self.limit, !reported.contains(error) else { return }
        reported.append(error)
        element.postWarning(
            problem, reported.count < Self.limit ? text() : "\(text()) (more errors of this handler aren't reported)",
            debug: "on-error=\(policy.nick)")
    }
}

extension StreamStart {
    /// Whose stream this is, for messages, such as "bob's video"; `nil` if the stream isn't a user's.
    var owner: String? {
        guard let user = SpeakerUser(streamID: id), let kind = SpeakerUser.kind(streamID: id) else { return nil }
        let name =
            switch kind {
            case .video: "video"
            case .videoAux: "second video"
            case .audio: "audio"
            case .share: "share"
            case .shareAudio: "shared audio"
            }
        return "\(user.name)'s \(name)"
    }
}
