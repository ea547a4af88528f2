import Glibc
import MediaGraph

/// The reason why a run ended, or was asked to end.
enum StopReason: String, Codable, Sendable, CaseIterable {
    case endOfStream = "end-of-stream"
    /// `--duration` was over.
    case duration
    /// SIGINT (Ctrl-C) or SIGTERM arrived.
    case interrupted, terminated
    /// The command `quit` was given.
    case quit
    /// SIGHUP arrived: the terminal was closed.
    case hungUp = "hung-up"
    /// The reader of standard output went away.
    case readerGone = "reader-gone"
    case error
    /// The streams didn't end in time, or a second signal arrived.
    case forced

    /// Returns the line that tells the user that the streams are ending; `nil` if there is nothing to wait for.
    /// `duration` is the limit of the run in seconds.
    func announcement(duration: Double?) -> String? {
        switch self {
        case .duration:
            (duration.map { "\(Numbers.shortest($0)) s \($0 == 1 ? "is" : "are") up; " } ?? "") + "finishing …"
        case .interrupted: "finishing … (Ctrl-C again stops at once)"
        case .terminated, .hungUp, .quit: "finishing …"
        case .endOfStream, .readerGone, .error, .forced: nil
        }
    }
}

extension StopReason {
    /// The reasons of the signals that end a run.
    private static let bySignal: [CInt: StopReason] = [
        SIGINT: .interrupted, SIGTERM: .terminated, SIGHUP: .hungUp,
    ]

    init?(signal: CInt) {
        guard let reason = Self.bySignal[signal] else { return nil }
        self = reason
    }

    /// All reasons as an enumeration in the help.
    static var help: String {
        let names = allCases.map(\.rawValue)
        let text = names.dropLast().joined(separator: ", ") + " or \(names[names.count - 1])"
        return TextWidth.wrapped(text, to: 70, indent: 2)
    }

    var signal: CInt? { Self.bySignal.first { $0.value == self }?.key }
}

/// The result of a run.
struct RunSummary: Sendable {
    var reason: StopReason
    var status: ExitStatus
    /// The progress at the end, with rates over the whole run.
    var sample: ProgressSample
    var latency: LatencySamples.Summary?
    var losses: [StreamLoss] = []
    /// The files that may be unreadable after a forced stop.
    var incompleteFiles: [String] = []
    /// The warnings that elements repeated, one line each.
    var repeatedWarnings: [String] = []

    /// The summary in one line: `360 frames in 12.0 s · 0 dropped · latency p50 39 ms, p99 47 ms`.
    var text: String {
        var parts: [String] = []
        if let row = sample.summaryRow {
            let dropped = sample.rows.reduce(0) { $0 + $1.dropped }
            let unit = row.frames == 1 ? String(row.unit.dropLast()) : row.unit
            parts.append("\(row.frames) \(unit) in \(Numbers.fixed(sample.time, 1)) s")
            parts.append("\(dropped) dropped")
            let late = sample.rows.reduce(0) { $0 + ($1.lateSamples ?? 0) }
            if late > 0 { parts.append("\(late) samples too late for the mix") }
        } else {
            parts.append("\(Numbers.fixed(sample.time, 1)) s")
        }
        if let latency {
            func milliseconds(_ value: Double) -> String { "\(Numbers.fixed(value, value < 10 ? 1 : 0)) ms" }
            parts.append("latency p50 \(milliseconds(latency.p50)), p99 \(milliseconds(latency.p99))")
        }
        if reason == .readerGone { parts.append("the reader of standard output went away") }
        if reason == .forced { parts.append("stopped before the streams had ended") }
        return parts.joined(separator: " · ")
    }

    /// Whether the graph has played, so that there is something to summarize. A graph that ended without an error has
    /// played, even if the time is 0.
    var hasPlayed: Bool { [.success, .missingStream].contains(status) || sample.time > 0 }

    /// Warnings about data that was lost, and about sinks that received nothing.
    var warnings: [String] {
        repeatedWarnings + losses.map(\.description) + [emptySinkWarning].compactMap { $0 }
            + incompleteFiles.map(Self.incomplete)
    }

    static func incomplete(_ file: String) -> String { "\(file) may be incomplete: its stream hadn't ended" }

    private var emptySinkWarning: String? {
        // After an error, the warning would be redundant or wrong: a handler that failed has counted no frames.
        guard hasPlayed, status != .failure else { return nil }
        let names = sample.rows.filter { $0.endsBranch && $0.frames + $0.dropped == 0 }.map(\.name)
        guard let last = names.last else { return nil }
        let all = names.count == 1 ? last : names.dropLast().joined(separator: ", ") + " and " + last
        return "\(all) received no data"
    }
}

/// A failure or delay of a run, as all reports show it.
struct RunFailure: Sendable {
    /// The whole text for people.
    var text: String
    /// The link at which two elements have no format in common, if that is the cause.
    var formatConflict: String?
    var element: String?
    var factory: String?
    /// The text without the element's name.
    var message: String
    var detail: String?
    /// The files of other branches, which may be unreadable.
    var incompleteFiles: [String] = []

    /// Creates the failure of a start or stop that doesn't return because it waits for `elements`.
    init(hangingIn elements: [(name: String, factory: String?)], isStarting: Bool, because cause: StarvedSink? = nil) {
        self.init(elements, "hangs while \(isStarting ? "starting" : "stopping")")
        if let cause {
            // The graph as a whole is waiting; the waiting thread just happens to be in this element.
            text = "the graph hangs while \(isStarting ? "starting" : "stopping"). \(cause)"
            message = text
            return
        }
        guard !isStarting else { return }
        if let factory, let family = DeviceFamily(factory) {
            let isSource = ElementFactoryInfo.find(factory)?.padTemplates.contains { $0.direction == .source } ?? false
            text +=
                Self.advice(family)
                + (isSource ? "; wrap it in a devicesource so that the graph doesn't wait for it" : "")
        } else {
            text += Self.advice
        }
    }

    /// Creates the report of a start that hasn't returned yet.
    init(startingIn elements: [(name: String, factory: String?)], for time: Duration) {
        self.init(elements, "is still starting after \(time.components.seconds) s")
        text +=
            ["filesrc", "filesink"].contains(factory)
            ? ": a FIFO opens only when another program opens its other end"
            : "; a server or driver may be hanging: run `mediagraph doctor` to find it"
    }

    private init(_ elements: [(name: String, factory: String?)], _ message: String) {
        let label = elements.first.map { name, factory in
            factory.map { name.hasPrefix($0) ? name : "\(name) (\($0))" } ?? name
        }
        self.message = message
        text = "\(label ?? "the graph") \(message)"
        (element, factory) = (elements.first?.name, elements.first?.factory)
    }

    /// Creates the report of a sink that receives no data.
    init(_ starved: StarvedSink) {
        text = "\(starved)"
        message = text
        element = starved.sink
    }

    /// Creates the failure of streams that didn't end in time after they were asked to.
    init(notEndedWithin limit: Duration, because cause: StarvedSink?) {
        message = "the streams didn't end within \(limit.components.seconds) s"
        if let cause { message += ". \(cause)" }
        text = cause == nil ? message + Self.advice : message
    }

    /// Creates the failure of a graph that was stopped before it was running.
    init(stoppedBeforeRunningBecause cause: StarvedSink?) {
        text = "the graph was stopped before it was running"
        if let cause { text += ". \(cause)" }
        message = text
    }

    private static let advice = """
        : files may be incomplete. If an element can't keep up, send it less data (smaller or fewer frames), or \
        put a queue leaky=downstream before it
        """

    private static func advice(_ family: DeviceFamily) -> String {
        let (culprit, mend) = family.hang
        return ": \(culprit) doesn't answer, and files may be incomplete or empty; \(mend)"
    }

    /// Adds a suggestion for a missing device; `nil` if no device has a similar name.
    mutating func add(nearestDevice name: String?) {
        if let name { text += "; did you mean \"\(name)\"?" }
    }

    private static let fixedFormat = """
        ; the stream's format changed. To keep it fixed, put for example `videoscale ! \
        video/x-raw,width=640,height=360,pixel-aspect-ratio=1/1` before the encoder, or `audioresample ! \
        audio/x-raw,rate=48000` for sound
        """

    private static let encoderNeeds = """
        ; check its settings: 4:2:0 video needs an even width and height of at least 16 (put `videoscale ! \
        video/x-raw,width=640,height=360` before the encoder), and option-string accepts only x264's options
        """

    /// Creates the failure of a graph, with advice for some errors of muxers and encoders.
    init(_ error: GraphError, formatConflict: String? = nil) {
        text = "\(error)"
        message = text
        self.formatConflict = formatConflict
        guard case .failed(let failure) = error else { return }
        element = failure.element
        factory = failure.factory
        message = failure.error.message
        detail = failure.detail.isEmpty ? nil : failure.detail
        // The text of muxers' errors.
        if failure.debug.contains("Caps changes are not supported") { text += Self.fixedFormat }
        if failure.error.message.contains("Can not initialize x264 encoder") {
            while text.hasSuffix(".") { text.removeLast() }
            text += Self.encoderNeeds
        }
    }
}
