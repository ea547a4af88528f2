import MediaGraph

/// Reports the progress of a run: in a table on a terminal, in a log, as JSON, or not at all.
protocol RunReporter: Sendable {
    /// Seconds between two calls of `progress`.
    var interval: Duration { get }
    /// Called when the graph is about to start.
    mutating func begin(_ title: String, _ rows: [ProgressSample.Row], _ subscriptions: [SessionSubscriptions])
    /// Called when the start takes long, or when a sink receives no data.
    mutating func delayed(_ delay: RunFailure)
    mutating func progress(_ sample: ProgressSample)
    mutating func event(_ event: GraphEvent)
    /// Called every second for each session whose user is in a room.
    mutating func statistics(_ statistics: SessionStatistics)
    /// Called with the reply to each command of `--control`.
    mutating func control(_ reply: ControlReply)
    /// Called when the line at the prompt has changed.
    mutating func typed()
    /// Called when the streams are asked to end; `duration` is the limit of the run in seconds.
    mutating func finishing(_ reason: StopReason, duration: Double?)
    mutating func failed(_ failure: RunFailure)
    mutating func end(_ summary: RunSummary)
    /// Called before the program gives up the terminal, for a while or for good.
    mutating func release()
    /// Whether the output still has a reader.
    var hasReader: Bool { get }
    /// Whether every repetition of a warning is reported, rather than the first one and a count.
    var reportsRepeatedWarnings: Bool { get }
}

extension RunReporter {
    var hasReader: Bool { true }
    var reportsRepeatedWarnings: Bool { false }
    mutating func delayed(_ delay: RunFailure) { DiagnosticReport().warning(delay.text) }
    mutating func statistics(_ statistics: SessionStatistics) {}
    mutating func release() {}
    mutating func typed() {}
    mutating func control(_ reply: ControlReply) { DiagnosticReport().control(reply) }
}

/// Reports only warnings and errors (`--quiet`).
struct QuietReporter: RunReporter {
    let interval = Duration.seconds(60)
    private let report = DiagnosticReport()

    mutating func begin(_ title: String, _ rows: [ProgressSample.Row], _ subscriptions: [SessionSubscriptions]) {}
    mutating func progress(_ sample: ProgressSample) {}
    mutating func event(_ event: GraphEvent) {
        switch event {
        case .warning(let warning): report.warning("\(warning)")
        case .missingStream(let missing): report.warning("\(missing)")
        default: break
        }
    }
    mutating func finishing(_ reason: StopReason, duration: Double?) {}
    mutating func failed(_ failure: RunFailure) { report.failed(failure) }
    mutating func end(_ summary: RunSummary) { report.warnings(of: summary) }
}

/// Reports for a log or a pipe: one line per second on standard error.
struct LineReporter: RunReporter {
    var showsMessages = false
    let interval = Duration.seconds(1)
    private let report = DiagnosticReport()

    mutating func begin(_ title: String, _ rows: [ProgressSample.Row], _ subscriptions: [SessionSubscriptions]) {
        for line in [title] + SessionRoster.logLines(subscriptions) { StandardStreams.printError(line) }
    }
    mutating func progress(_ sample: ProgressSample) { StandardStreams.printError(ProgressTable.logLine(sample)) }
    mutating func event(_ event: GraphEvent) {
        switch event {
        case .warning(let warning): report.warning("\(warning)")
        case .missingStream(let missing): report.warning("\(missing)")
        case .element(let name, let structure) where showsMessages: report.message(name, structure)
        default:
            guard let line = SessionRoster.logLine(event) ?? DeviceEventText.line(event) else { return }
            StandardStreams.printError(TextWidth.fitted(line, behind: 2, on: .standardError))
        }
    }
    mutating func finishing(_ reason: StopReason, duration: Double?) {
        if let text = reason.announcement(duration: duration) { StandardStreams.printError(text) }
    }
    mutating func failed(_ failure: RunFailure) { report.failed(failure) }
    mutating func end(_ summary: RunSummary) {
        // A graph that never reached PLAYING has no summary.
        if summary.hasPlayed {
            progress(summary.sample)
            StandardStreams.printError(summary.text)
        }
        report.warnings(of: summary)
    }
}

extension DiagnosticReport {
    /// Prints a message that an element posted: `level0: level, endtime=…`.
    func message(_ element: String, _ structure: Structure) {
        StandardStreams.printError(TextWidth.printable("\(element): \(structure)"))
    }

    /// Prints the summary's warnings. They come after the summary, so that they aren't overlooked.
    func warnings(of summary: RunSummary) {
        for text in summary.warnings { warning(text) }
    }

    func failed(_ failure: RunFailure) {
        error(failure.text)
        if let conflict = failure.formatConflict { StandardStreams.printError("  \(TextWidth.printable(conflict))") }
        for file in failure.incompleteFiles { warning(RunSummary.incomplete(file)) }
    }
}
