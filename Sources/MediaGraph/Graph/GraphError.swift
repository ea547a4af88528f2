import GStreamer

/// Why a graph can't be made, or how it ended.
public enum GraphError: Error, Sendable {
    /// The description doesn't hold; each problem has its place in the text.
    case description(DescriptionError)
    /// The nodes couldn't be registered with GStreamer.
    case registration(RegistrationError)
    /// No element has this name; `known` are the names there are.
    case noSuchNode(name: String, known: [String])
    /// The element of this name is something else.
    case wrongKind(name: String, expected: String, actual: String)
    /// An element ended the graph with an error.
    case failed(ElementFailure)
    /// It was stopped before it was PLAYING.
    case stopped
    /// The call doesn't fit the graph's state, such as starting it twice.
    case wrongUsage(String)
}

extension GraphError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .description(let error): error.description
        case .registration(let error): error.description
        case .noSuchNode(let name, let known):
            "no element is named \"\(name)\"" + (known.isEmpty ? "" : "; there are \(known.joined(separator: ", "))")
        case .wrongKind(let name, let expected, let actual): "\"\(name)\" is a \(actual), not a \(expected)"
        case .failed(let failure): failure.description
        case .stopped: "the graph was stopped before it was running"
        case .wrongUsage(let text): text
        }
    }
}

/// An error or a warning that an element posted.
public struct ElementFailure: Error, Sendable, CustomStringConvertible {
    /// The element's name, and the factory that made it.
    public let element: String
    public let factory: String?
    public let error: GLibError
    /// Details for developers.
    public let debug: String
    /// Where one of MediaGraph's own nodes says it, or it is a device's: the error itself.
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
            message: device?.description ?? report.error.message + Self.inputs(of: message, report.error))
        debug = report.debug
        self.cause = cause ?? device
    }

    /// Which files or addresses an element reads whose input isn't what it should be: ` (reading notes.txt)`.
    private static func inputs(of message: Message, _ error: GLibError) -> String {
        // GST_STREAM_ERROR_TYPE_NOT_FOUND, WRONG_TYPE, CODEC_NOT_FOUND, DECODE, DEMUX and FORMAT.
        guard case .error = message.kind, error.domain == "gst-stream-error-quark",
            [4, 5, 6, 7, 9, 11].contains(error.code), let places = message.source.map(\.inputPlaces), !places.isEmpty
        else { return "" }
        return " (reading \(places.joined(separator: ", ")))"
    }

    /// The last line of the debug text: what GStreamer's elements put their own detail in.
    public var detail: String {
        debug.split(whereSeparator: \.isNewline).dropFirst().joined(separator: "\n")
    }

    public var description: String {
        let source = factory.map { element.hasPrefix($0) ? element : "\(element) (\($0))" } ?? element
        let text =
            error.message.hasPrefix("\(element): ") ? String(error.message.dropFirst(element.count + 2)) : error.message
        return "\(source): \(text)" + (detail.isEmpty ? "" : " [\(detail)]")
    }
}
