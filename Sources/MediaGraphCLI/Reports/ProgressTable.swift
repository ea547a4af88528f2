import MediaGraph

/// Lays out a progress sample as a table that fits a window: one row per node, with aligned columns. The least
/// important columns and rows are left out if there is no room.
struct ProgressTable {
    struct Line: Equatable {
        /// The text, with escape sequences for colors.
        var text: String
        /// The width in columns.
        var width: Int
    }

    private struct Cell {
        var text: String
        var face: Style.Face?
    }

    private enum Column: CaseIterable {
        case time, name, element, rate, frames, dropped, losses, handler, latency

        var alignsRight: Bool {
            switch self {
            case .time, .name, .element, .losses: false
            case .rate, .frames, .dropped, .handler, .latency: true
            }
        }

        /// The minimum width, which keeps columns from jumping while numbers grow.
        var minimumWidth: Int {
            switch self {
            case .rate: 9
            case .frames: 12
            case .dropped: 9
            default: 0
            }
        }

        /// The columns that are left out if there is no room, the first one first.
        static let leastImportantFirst: [Column] = [.element, .handler, .latency, .losses, .dropped, .frames]
    }

    private static let longestName = 24
    private static let separator = "  "

    let style: Style

    /// Returns the lines of the table: at most `height` lines, at most `width` columns wide.
    func lines(_ sample: ProgressSample, width: Int, height: Int) -> [Line] {
        let shown = max(1, sample.rows.count > height ? height - 1 : height)
        var table = Self.mostImportant(sample.rows, shown).enumerated().map { index, row in
            cells(row, time: index == 0 ? clock(sample) : "")
        }
        if table.isEmpty { table = [[.time: Cell(text: clock(sample), face: .bold)]] }
        let widths = columnWidths(table, width: width)
        var lines = table.map { line($0, widths, width: width) }
        let hidden = sample.rows.count - shown
        if hidden > 0, height > 1 {
            let text = TextWidth.truncated("  and \(hidden) more", to: width)
            lines.append(Line(text: style.paint(text, .dim), width: TextWidth.columns(text)))
        }
        return lines
    }

    /// Returns the `count` most important rows in their original order. Pipes and sinks come first: what arrives at the
    /// ends of a graph also shows whether the rest works.
    private static func mostImportant(_ rows: [ProgressSample.Row], _ count: Int) -> [ProgressSample.Row] {
        func rank(_ row: ProgressSample.Row) -> Int {
            row.element == "rawdatapipe" ? 0 : Nodes.factoryNames.contains(row.element) ? 2 : 1
        }
        let chosen = Set(rows.indices.sorted { (rank(rows[$0]), $0) < (rank(rows[$1]), $1) }.prefix(count))
        return rows.indices.filter(chosen.contains).map { rows[$0] }
    }

    /// The maximum number of rows in a line of a log.
    private static let maximumRowsInLog = 8

    /// Returns the sample as one line for a log.
    static func logLine(_ sample: ProgressSample) -> String {
        var rows = mostImportant(sample.rows, maximumRowsInLog).map { row in
            var parts = [row.name, rate(row), frames(row), "\(row.dropped) dropped"]
            if let losses = row.losses { parts.append(losses) }
            if let handler = handler(row) { parts.append(handler) }
            if let latency = latency(row) { parts.append(latency) }
            return parts.joined(separator: " ")
        }
        let hidden = sample.rows.count - rows.count
        if hidden > 0 { rows.append("and \(hidden) more") }
        return ([DurationText.text(sample.time)] + rows).joined(separator: "  ")
    }

    // MARK: Cells

    private func clock(_ sample: ProgressSample) -> String {
        guard let position = sample.position, let duration = sample.duration else {
            return DurationText.text(sample.time)
        }
        return "\(DurationText.text(position)) of \(DurationText.text(duration))"
    }

    private func cells(_ row: ProgressSample.Row, time: String) -> [Column: Cell] {
        [
            .time: Cell(text: time, face: .bold),
            .name: Cell(text: TextWidth.truncated(TextWidth.printable(row.name), to: Self.longestName), face: .name),
            // A default name such as "preprocessor0" already contains the factory's name.
            .element: Cell(text: row.name.hasPrefix(row.element) ? "" : row.element, face: .dim),
            .rate: Cell(text: Self.rate(row)),
            .frames: Cell(text: Self.frames(row)),
            .dropped: Cell(text: "\(row.dropped) dropped", face: row.dropped > 0 ? .warning : nil),
            .losses: Cell(text: row.losses ?? "", face: .warning),
            .handler: Cell(text: Self.handler(row) ?? ""),
            .latency: Cell(text: Self.latency(row) ?? ""),
        ]
    }

    private static func rate(_ row: ProgressSample.Row) -> String {
        let rate = Numbers.fixed(row.framesPerSecond, row.framesPerSecond >= 1000 ? 0 : 1)
        return row.unit == "frames" ? "\(rate) fps" : "\(rate) /s "
    }

    private static func frames(_ row: ProgressSample.Row) -> String {
        "\(row.frames) \(row.frames == 1 ? String(row.unit.dropLast()) : row.unit)"
    }

    private static func handler(_ row: ProgressSample.Row) -> String? {
        row.handlerMilliseconds.map { "\(Numbers.fixed($0, $0 < 10 ? 2 : 1)) ms per \(row.unit.dropLast())" }
    }

    private static func latency(_ row: ProgressSample.Row) -> String? {
        row.latencyMilliseconds.map { "latency \(Numbers.fixed($0, $0 < 10 ? 1 : 0)) ms" }
    }

    // MARK: Layout

    private func columnWidths(_ table: [[Column: Cell]], width: Int) -> [Column: Int] {
        var widths: [Column: Int] = [:]
        for column in Column.allCases {
            let widest = table.map { TextWidth.columns($0[column]?.text ?? "") }.max() ?? 0
            if widest > 0 { widths[column] = max(widest, column.minimumWidth) }
        }
        for column in Column.leastImportantFirst where Self.total(widths) > width { widths[column] = nil }
        return widths
    }

    private static func total(_ widths: [Column: Int]) -> Int {
        widths.values.reduce(0) { $0 + $1 + separator.count }
    }

    private func line(_ cells: [Column: Cell], _ widths: [Column: Int], width: Int) -> Line {
        var line = Line(text: "", width: 0)
        let shown = Column.allCases.filter { widths[$0] != nil }
        // Trailing blanks are left out: a window that becomes narrower would wrap them.
        let last = shown.lastIndex { cells[$0]?.text.isEmpty == false } ?? -1
        for column in shown.prefix(last + 1) {
            let columnWidth = widths[column] ?? 0
            let cell = cells[column] ?? Cell(text: "")
            let padded = TextWidth.padded(cell.text, to: columnWidth, alignsRight: column.alignsRight)
            let room = width - line.width - Self.separator.count
            guard room > 0 else { break }
            let text = TextWidth.truncated(padded, to: room)
            line.text += Self.separator + (cell.face.map { style.paint(text, $0) } ?? text)
            line.width += Self.separator.count + TextWidth.columns(text)
        }
        return line
    }
}
