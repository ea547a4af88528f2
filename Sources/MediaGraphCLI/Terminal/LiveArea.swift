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
        output += Self.movingUp(drawn, columns: Terminal.size(stream).columns)
        // Line by line, and what is left of the old lines last: to erase all first would flicker, and where the area begins
        // at the window's top tmux would keep each drawing in its history.
        output += lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J"
        isCursorHidden = true
        drawn = widths
        StandardStreams.write(output, to: stream)
    }

    /// Takes the lines away and shows the cursor again.
    mutating func clear() {
        guard isCursorHidden else { return }
        let begin = Self.movingUp(drawn, columns: Terminal.size(stream).columns)
        StandardStreams.write(begin + "\u{1B}[J\u{1B}[?25h", to: stream)
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

    /// To the beginning of the first of the lines. In a window that became narrower since, each line takes as many rows as
    /// it was wrapped to.
    static func movingUp(_ widths: [Int], columns: Int) -> String {
        let rows = widths.reduce(0) { $0 + max(1, ($1 + columns - 1) / max(1, columns)) }
        return rows == 0 ? "" : "\u{1B}[\(rows)A\r"
    }
}
