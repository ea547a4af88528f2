import Glibc
import MediaGraph

/// Why a run is over.
enum StopReason: String, Codable, Sendable, CaseIterable {
    case endOfStream = "end-of-stream"
    /// `--duration` was over.
    case duration
    /// Ctrl-C, SIGTERM.
    case interrupted, terminated
    /// The command of that name.
    case quit
    /// SIGHUP: the terminal is gone.
    case hungUp = "hung-up"
    /// Nobody reads standard output any more.
    case readerGone = "reader-gone"
    case error
    /// Its streams didn't end in time, or a second signal came.
    case forced

    /// What the user is told while streams end; `duration` is the run's limit in seconds.
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
    /// The signals that ask for an end.
    private static let bySignal: [CInt: StopReason] = [
        SIGINT: .interrupted, SIGTERM: .terminated, SIGHUP: .hungUp,
    ]

    init?(signal: CInt) {
        guard let reason = Self.bySignal[signal] else { return nil }
        self = reason
    }

    /// All of them in a sentence, for the help.
    static var help: String {
        let names = allCases.map(\.rawValue)
        let text = names.dropLast().joined(separator: ", ") + " or \(names[names.count - 1])"
        return TextWidth.wrapped(text, to: 70, indent: 2)
    }

    var signal: CInt? { Self.bySignal.first { $0.value == self }?.key }
}

/// How a run ended.
struct RunSummary: Sendable {
    var reason: StopReason
    var status: ExitStatus
    /// At the end, with the rates of the whole run.
    var sample: ProgressSample
    var latency: LatencySamples.Summary?
    var losses: [StreamLoss] = []
    /// Of a forced stop: what may not be readable.
    var incompleteFiles: [String] = []
    /// What elements warned of more than once, in a line each.
    var repeatedWarnings: [String] = []

    /// `360 frames in 12.0 s · 0 dropped · latency p50 39 ms, p99 47 ms`
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
        if reason == .readerGone { parts.append("nobody reads standard output any more") }
        if reason == .forced { parts.append("stopped before its streams had ended") }
        return parts.joined(separator: " · ")
    }

    /// Whether there is anything to sum up: a graph that ended by itself has played, however short.
    var hasPlayed: Bool { [.success, .missingStream].contains(status) || sample.time > 0 }

    /// What came to nothing although the graph was running.
    var warnings: [String] {
        repeatedWarnings + losses.map(\.description) + [emptySinkWarning].compactMap { $0 }
            + incompleteFiles.map(Self.incomplete)
    }

    static func incomplete(_ file: String) -> String { "\(file) may be incomplete: its stream hadn't ended" }

    private var emptySinkWarning: String? {
        // After an error that is no news, or wrong: a handler that failed has counted nothing.
        guard hasPlayed, status != .failure else { return nil }
        let names = sample.rows.filter { $0.endsBranch && $0.frames + $0.dropped == 0 }.map(\.name)
        guard let last = names.last else { return nil }
        let all = names.count == 1 ? last : names.dropLast().joined(separator: ", ") + " and " + last
        return "\(all) received no data"
    }
}

/// What failed, as every report shows it.
struct RunFailure: Sendable {
    var text: String
    /// Where two elements have no format in common.
    var formatConflict: String?
    var element: String?
    var factory: String?
    var message: String
    var detail: String?
    /// Of other branches: what they wrote may not be readable.
    var incompleteFiles: [String] = []

    /// A start or a stop that doesn't return; `elements` are those that it waits for.
    init(hangingIn elements: [(name: String, factory: String?)], isStarting: Bool, because cause: StarvedSink? = nil) {
        self.init(elements, "hangs while \(isStarting ? "starting" : "stopping")")
        if let cause {
            // What waits for something is the graph; the element is only where the waiting thread is.
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

    /// A start that hasn't returned yet.
    init(startingIn elements: [(name: String, factory: String?)], for time: Duration) {
        self.init(elements, "is still starting after \(time.components.seconds) s")
        text +=
            ["filesrc", "filesink"].contains(factory)
            ? ": a FIFO opens only when another program opens its other end"
            : "; a server or driver may be hanging: see `mediagraph doctor`"
    }

    private init(_ elements: [(name: String, factory: String?)], _ message: String) {
        let place = elements.first.map { name, factory in
            factory.map { name.hasPrefix($0) ? name : "\(name) (\($0))" } ?? name
        }
        self.message = message
        text = "\(place ?? "the graph") \(message)"
        (element, factory) = (elements.first?.name, elements.first?.factory)
    }

    /// A sink that gets nothing.
    init(_ starved: StarvedSink) {
        text = "\(starved)"
        message = text
        element = starved.sink
    }

    /// Streams that were asked to end and didn't.
    init(notEndedWithin limit: Duration, because cause: StarvedSink?) {
        message = "its streams didn't end within \(limit.components.seconds) s of being asked to"
        if let cause { message += ". \(cause)" }
        text = cause == nil ? message + Self.advice : message
    }

    /// A graph that was stopped before it was running.
    init(_ stopped: GraphError, because cause: StarvedSink?) {
        self.init(stopped)
        if let cause { text += ". \(cause)" }
        message = text
    }

    private static let advice = """
        : files may be incomplete. If an element can't keep up, send it less (a smaller size, fewer frames), or \
        put a queue leaky=downstream before it
        """

    private static func advice(_ family: DeviceFamily) -> String {
        let (who, mend) = family.hang
        return ": \(who) doesn't answer, and files may be incomplete or empty; \(mend)"
    }

    /// For one that isn't there; `nil` when no name is like its.
    mutating func add(nearestDevice name: String?) {
        if let name { text += "; did you mean \"\(name)\"?" }
    }

    private static let fixedFormat = """
        ; the stream's format changed. Fix the format before the encoder with `videoscale ! \
        video/x-raw,width=640,height=360,pixel-aspect-ratio=1/1`, say, or of sound by `audioresample ! \
        audio/x-raw,rate=48000`
        """

    private static let encoderNeeds = """
        ; check its settings: 4:2:0 needs an even width and height of at least 16 (put `videoscale ! \
        video/x-raw,width=640,height=360` before the encoder), and option-string takes only x264's options
        """

    init(_ error: GraphError, formatConflict: String? = nil) {
        text = "\(error)"
        message = text
        self.formatConflict = formatConflict
        guard case .failed(let failure) = error else { return }
        element = failure.element
        factory = failure.factory
        message = failure.error.message
        detail = failure.detail.isEmpty ? nil : failure.detail
        // Muxers' words.
        if failure.debug.contains("Caps changes are not supported") { text += Self.fixedFormat }
        if failure.error.message.contains("Can not initialize x264 encoder") {
            while text.hasSuffix(".") { text.removeLast() }
            text += Self.encoderNeeds
        }
    }
}
