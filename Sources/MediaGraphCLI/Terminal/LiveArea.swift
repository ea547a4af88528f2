import Foundation

/// Lines at the bottom of a terminal that are drawn anew in place; everything else scrolls above them.
struct LiveArea {
    private let stream: FileHandle
    /// The columns of each line on the screen now.
    private var drawn: [Int] = []
    private var isCursorHidden = false

    init(_ stream: FileHandle) { self.stream = stream }

    /// `lines` are no wider than the window, colours aside; `widths` are their columns.
    mutating func draw(_ lines: [String], widths: [Int]) {
        var output = isCursorHidden ? "" : "\u{1B}[?25l"
        output += Self.erasing(drawn, columns: Terminal.size(stream).columns)
        output += lines.map { $0 + "\n" }.joined()
        isCursorHidden = true
        drawn = widths
        StandardStreams.write(output, to: stream)
    }

    /// Takes the lines away and shows the cursor again.
    mutating func clear() {
        guard isCursorHidden else { return }
        StandardStreams.write(Self.erasing(drawn, columns: Terminal.size(stream).columns) + "\u{1B}[?25h", to: stream)
        leave()
    }

    /// Leaves the lines where they are and shows the cursor again.
    mutating func release() {
        guard isCursorHidden else { return }
        StandardStreams.write("\u{1B}[?25h", to: stream)
        leave()
    }

    private mutating func leave() {
        isCursorHidden = false
        drawn = []
    }

    /// Up to the first of the lines, and everything from there away. In a window that became narrower since, each line
    /// takes as many rows as it was wrapped to.
    static func erasing(_ widths: [Int], columns: Int) -> String {
        let rows = widths.reduce(0) { $0 + max(1, ($1 + columns - 1) / max(1, columns)) }
        return rows == 0 ? "" : "\u{1B}[\(rows)A\r\u{1B}[J"
    }
}
