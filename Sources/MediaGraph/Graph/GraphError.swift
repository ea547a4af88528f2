import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphDevices
import MediaGraphElements

/// Why a graph can't be made, or why it failed.
public enum GraphError: Error, Sendable {
    /// The description has errors, each with its position in the text.
    case description(DescriptionError)
    /// The nodes couldn't be registered with GStreamer.
    case registration(RegistrationError)
    /// No element has this name; `known` lists the names of the graph's elements.
    case noSuchNode(name: String, known: [String])
    /// The element of this name is of another kind. `expected` and `actual` are factory names.
    case wrongKind(name: String, expected: String, actual: String)
    /// An element ended the graph with an error.
    case failed(ElementFailure)
    /// The graph was stopped, or the task cancelled.
    case stopped
    /// The call isn't allowed in the graph's state, such as starting it twice.
    case wrongUsage(String)
}

extension GraphError: CustomStringConvertible {
    /// The error as the command line prints it.
    public var description: String {
        switch self {
        case .description(let error): error.description
        case .registration(let error): error.description
        case .noSuchNode(let name, let known):
            "no element is named \"\(name)\""
                + (known.isEmpty ? "" : "; named elements: \(known.joined(separator: ", "))")
        case .wrongKind(let name, let expected, let actual): "\"\(name)\" is a \(actual), not a \(expected)"
        case .failed(let failure): failure.description
        case .stopped: "the graph was stopped, or the task was cancelled"
        case .wrongUsage(let text): text
        }
    }
}

/// An error or a warning that an element posted.
public struct ElementFailure: Error, Sendable, CustomStringConvertible {
    /// The element's name.
    public let element: String
    /// The name of the element's factory; `nil` if the element has none.
    public let factory: String?
    /// The error that the element posted.
    public let error: GLibError
    /// The message's debug text, for developers.
    public let debug: String
    /// The typed error, if the failure comes from one of MediaGraph's nodes or from a device; otherwise `nil`.
    public let cause: MediaGraphError?

    init(_ message: Message, _ report: Message.Report) {
        element = message.sourceName
        factory = message.sourceFactory
        let cause = report.details.flatMap { MediaGraphError(details: $0) }
        var device: MediaGraphError?
        if case .error = message.kind, cause == nil {
            device = message.source.flatMap { DeviceFailure.error(report, of: $0) }
        }
        error = GLibError(
            domain: report.error.domain, code: report.error.code,
            message: device?.description ?? PlainMessage.text(of: message, report) ?? report.error.message
                + Self.places(of: message, report.error, report.debug))
        debug = report.debug
        self.cause = cause ?? device
    }

    /// Returns the files that the error is about, in parentheses, if its text doesn't name them:
    /// ` (reading notes.txt)`. Returns an empty text otherwise.
    private static func places(of message: Message, _ error: GLibError, _ debug: String) -> String {
        // GST_RESOURCE_ERROR_NOT_FOUND
        if error.domain == "gst-resource-error-quark", error.code == 3, let element = message.source, !element.isSink,
            let file = try? element.property("location", as: String.self), debug.contains("No such file"),
            let near = FileCheck.nearest(to: file)
        {
            return " (did you mean \(near)?)"
        }
        // GST_RESOURCE_ERROR_READ to SYNC, and NO_SPACE_LEFT.
        if error.domain == "gst-resource-error-quark", [9, 10, 11, 12, 14].contains(error.code),
            let element = message.source,
            let file = try? element.property("location", as: String.self), !error.message.contains(file)
        {
            return element.isSink ? " (writing \(file), which is incomplete)" : " (reading \(file))"
        }
        // GST_STREAM_ERROR_TYPE_NOT_FOUND, WRONG_TYPE, CODEC_NOT_FOUND, DECODE, DEMUX and FORMAT.
        guard case .error = message.kind, error.domain == "gst-stream-error-quark",
            [4, 5, 6, 7, 9, 11].contains(error.code), let places = message.source.map(\.inputPlaces), !places.isEmpty
        else { return "" }
        // qtdemux found no `moov`, which cameras and muxers write at the end.
        let hint =
            debug.hasSuffix("no known streams found")
            ? "; an MP4 file has no index if it was cut off or its recording wasn't finished" : ""
        return " (reading \(places.joined(separator: ", "))\(hint))"
    }

    /// The debug text without its first line, which is a source location; elements write their own detail after it.
    /// Empty if the detail says nothing beyond the error.
    public var detail: String {
        let lines = debug.split(whereSeparator: \.isNewline).dropFirst()
        return PlainMessage.isUninformative(lines.last) ? "" : lines.joined(separator: "\n")
    }

    /// The element, its factory, the error and its detail.
    public var description: String {
        let source = factory.map { element.hasPrefix($0) ? element : "\(element) (\($0))" } ?? element
        let text =
            error.message.hasPrefix("\(element): ") ? String(error.message.dropFirst(element.count + 2)) : error.message
        return "\(source): \(text)" + (detail.isEmpty ? "" : " [\(detail)]")
    }
}

extension ElementFailure {
    /// Returns a failure of the pipeline for which no element posted an error.
    static func unexplained(_ pipeline: Pipeline, _ text: String) -> ElementFailure {
        ElementFailure(
            element: pipeline.name, factory: nil, error: GLibError(domain: "mediagraph", code: 0, message: text),
            debug: "")
    }

    init(element: String, factory: String?, error: GLibError, debug: String) {
        self.element = element
        self.factory = factory
        self.error = error
        self.debug = debug
        cause = nil
    }
}

extension MediaGraphError {
    /// The error of `subject`, such as a session, whose graph couldn't start.
    init(_ error: GraphError, _ subject: String) {
        switch error {
        case .failed(let failure):
            self = failure.cause ?? MediaGraphError(Code(failure.error), Detail(subject, actual: "\(failure)"))
        case .stopped: self = .notInSession(Detail(subject, actual: "was stopped while it was starting"))
        case .wrongUsage(let text): self = .wrongUsage(Detail(subject, actual: text))
        default: self = .internalError(Detail(subject, actual: "\(error)"))
        }
    }
}

extension MediaGraphError.Code {
    /// The code that corresponds to a stock element's error.
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
