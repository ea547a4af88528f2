import Foundation
import MediaGraph

/// Reports for a terminal: a table on standard error that is redrawn in place.
struct LiveReporter: RunReporter {
    private let showsMessages: Bool
    let interval = Duration.milliseconds(200)
    private let stream = FileHandle.standardError
    private let style = Style(for: .standardError)
    private let report = DiagnosticReport()
    private var area = LiveArea(.standardError)
    private var last: ProgressSample?
    private var announcement: String?
    /// Whether the run is over. The table that stays on the terminal is drawn without the prompt.
    private var isOver = false
    private var levels = LevelMeters()
    private var roster = SessionRoster()
    private let prompt: Prompt?

    init(showsMessages: Bool = false, prompt: Prompt? = nil) {
        self.showsMessages = showsMessages
        self.prompt = prompt
    }

    mutating func begin(_ title: String, _ rows: [ProgressSample.Row], _ subscriptions: [SessionSubscriptions]) {
        roster = SessionRoster(subscriptions)
        let width = Terminal.size(stream).columns
        StandardStreams.printError(Self.titleLine(title, width: width, style: style))
    }

    /// Returns the title on the left and, if there is room, the hint how to end the run on the right.
    static func titleLine(_ title: String, width: Int, style: Style) -> String {
        let hint = "Ctrl-C to finish"
        let room = width - hint.count - 3
        guard room >= 20 else { return style.paint(TextWidth.truncated(title, to: width), .bold) }
        let text = TextWidth.truncated(title, to: room)
        let gap = String(repeating: " ", count: width - 1 - TextWidth.columns(text) - hint.count)
        return style.paint(text, .bold) + gap + style.paint(hint, .dim)
    }

    mutating func progress(_ sample: ProgressSample) {
        last = sample
        draw()
    }

    private mutating func draw() {
        guard last != nil || announcement != nil, Terminal.isForeground(stream) else { return }
        let size = Terminal.size(stream)
        // One column stays free: some terminals wrap a line that fills the last one.
        let width = max(1, size.columns - 1)
        // If the area were higher than the window, the cursor couldn't get back to its first line.
        let height = max(1, size.rows - (announcement == nil ? 2 : 3) - (prompt == nil ? 0 : 1))
        var lines = last.map { ProgressTable(style: style).lines($0, width: width, height: height) } ?? []
        lines += roster.lines(style: style, width: width, height: height - lines.count)
        lines += levels.lines(style: style, width: width, height: height - lines.count)
        if let announcement {
            let text = TextWidth.truncated(announcement, to: width)
            lines.append(.init(text: style.paint(text, .dim), width: TextWidth.columns(text)))
        }
        if let prompt, !isOver {
            prompt.takeTerminal()
            let line = prompt.rendered(width: width, style: style)
            lines.append(.init(text: line.text, width: line.columns))
        }
        area.draw(lines.map(\.text), widths: lines.map(\.width))
    }

    mutating func delayed(_ delay: RunFailure) {
        area.clear()
        report.warning(delay.text)
        draw()
    }

    mutating func event(_ event: GraphEvent) {
        switch event {
        case .warning(let warning):
            area.clear()
            report.warning("\(warning)")
        case .missingStream(let missing):
            area.clear()
            report.warning("\(missing)")
        case .element(let name, let structure) where levels.add(name, structure):
            // Levels are drawn with the next sample: there may be hundreds of them per second.
            return
        case _ where roster.add(event): break
        case .element(let name, let structure) where showsMessages:
            area.clear()
            report.message(name, structure)
        case .deviceFormat, .deviceLost, .deviceBack, .userCommand:
            guard let line = DeviceEventText.line(event) ?? SessionRoster.logLine(event) else { return }
            area.clear()
            StandardStreams.printError(TextWidth.fitted(line, behind: 2, on: .standardError))
        default: return
        }
        draw()
    }

    mutating func statistics(_ statistics: SessionStatistics) { roster.set(statistics) }

    mutating func typed() { draw() }

    mutating func control(_ reply: ControlReply) {
        area.clear()
        report.control(reply)
        draw()
    }

    mutating func finishing(_ reason: StopReason, duration: Double?) {
        announcement = reason.announcement(duration: duration)
        draw()
    }

    mutating func failed(_ failure: RunFailure) {
        announcement = nil
        isOver = true
        draw()
        leave()
        report.failed(failure)
        // The error comes last: `end` must not draw the table below it.
        last = nil
    }

    mutating func end(_ summary: RunSummary) {
        announcement = nil
        if last != nil || summary.status == .success { last = summary.sample }
        isOver = true
        draw()
        leave()
        guard summary.hasPlayed else { return }
        StandardStreams.printError("  \(style.paint(summary.text, summary.status == .success ? .good : .dim))")
        report.warnings(of: summary)
    }

    /// Gives up the terminal. With a prompt, the area is removed, so that no prompt stays on the screen.
    mutating func release() {
        if prompt != nil { area.clear() }
        leave()
    }

    private mutating func leave() {
        area.release()
        Prompt.returnTerminal()
    }
}
