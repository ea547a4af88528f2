import MediaGraph

/// Shows a run to somebody: a person at a terminal, a log, a program, or nobody.
protocol RunReporter: Sendable {
    /// Seconds between two calls of `progress`.
    var interval: Double { get }
    /// The graph is about to start.
    mutating func begin(_ title: String, _ rows: [ProgressSample.Row], _ subscriptions: [SessionSubscriptions])
    /// It hasn't started for a while, or a part of it gets nothing.
    mutating func delayed(_ delay: RunFailure)
    mutating func progress(_ sample: ProgressSample)
    mutating func event(_ event: GraphEvent)
    /// The graph was told something while it runs.
    mutating func control(_ reply: ControlReply)
    /// The line at the prompt is another.
    mutating func typed()
    /// Streams are asked to end.
    mutating func finishing(_ reason: StopReason, duration: Double?)
    mutating func failed(_ failure: RunFailure)
    mutating func end(_ summary: RunSummary)
    /// Before the program gives the terminal away for a while, or for good.
    mutating func release()
    /// False once nobody reads any more.
    var hasReader: Bool { get }
    /// Whether to report every repetition of a warning rather than the first and a count.
    var reportsRepeatedWarnings: Bool { get }
}

extension RunReporter {
    var hasReader: Bool { true }
    var reportsRepeatedWarnings: Bool { false }
    mutating func delayed(_ delay: RunFailure) { DiagnosticReport().warning(delay.text) }
    mutating func release() {}
    mutating func typed() {}
    mutating func control(_ reply: ControlReply) { DiagnosticReport().control(reply) }
}

/// For `--quiet`: warnings and errors only.
struct QuietReporter: RunReporter {
    let interval = 60.0
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

/// Lines for a log or a pipe: one a second, on standard error.
struct LineReporter: RunReporter {
    var showsMessages = false
    let interval = 1.0
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
            guard let line = SessionRoster.logLine(event) ?? DeviceNews.line(event) else { return }
            StandardStreams.printError(TextWidth.fitted(line, behind: 2, on: .standardError))
        }
    }
    mutating func finishing(_ reason: StopReason, duration: Double?) {
        if let text = reason.announcement(duration: duration) { StandardStreams.printError(text) }
    }
    mutating func failed(_ failure: RunFailure) { report.failed(failure) }
    mutating func end(_ summary: RunSummary) {
        // Nothing to sum up when it never was PLAYING.
        if summary.hasPlayed {
            progress(summary.sample)
            StandardStreams.printError(summary.text)
        }
        report.warnings(of: summary)
    }
}

extension DiagnosticReport {
    /// `level0: level, endtime=…`
    func message(_ element: String, _ structure: Structure) {
        StandardStreams.printError(TextWidth.printable("\(element): \(structure)"))
    }

    /// After the summary, so that they aren't overlooked.
    func warnings(of summary: RunSummary) {
        for text in summary.warnings { warning(text) }
    }

    func failed(_ failure: RunFailure) {
        error(failure.text)
        if let conflict = failure.formatConflict { StandardStreams.printError("  \(TextWidth.printable(conflict))") }
        for file in failure.incompleteFiles { warning(RunSummary.incomplete(file)) }
    }
}
