import Foundation

/// Lines at the bottom of a terminal that are redrawn in place, while all other output scrolls above them.
struct LiveArea {
    private let stream: FileHandle
    /// The widths in columns of the lines that are on the screen.
    private var drawn: [Int] = []
    private var isCursorHidden = false

    init(_ stream: FileHandle) { self.stream = stream }

    /// Replaces the drawn lines.
    ///
    /// - Parameters:
    ///   - lines: The new lines, which may contain colors. No line may be wider than the window.
    ///   - widths: The width of each line in columns.
    mutating func draw(_ lines: [String], widths: [Int]) {
        var output = isCursorHidden ? "" : "\u{1B}[?25l"
        output += Self.movingUp(drawn, columns: Terminal.size(stream).columns)
        // Overwrites line by line and erases the rest last. Erasing everything first would flicker, and if the area
        // begins at the top of the window, tmux would keep each drawing in its history.
        output += lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J"
        isCursorHidden = true
        drawn = widths
        StandardStreams.write(output, to: stream)
    }

    /// Removes the lines and shows the cursor again.
    mutating func clear() {
        guard isCursorHidden else { return }
        let begin = Self.movingUp(drawn, columns: Terminal.size(stream).columns)
        StandardStreams.write(begin + "\u{1B}[J\u{1B}[?25h", to: stream)
        leave()
    }

    /// Leaves the lines on the screen and shows the cursor again.
    mutating func release() {
        guard isCursorHidden else { return }
        StandardStreams.write("\u{1B}[?25h", to: stream)
        leave()
    }

    private mutating func leave() {
        isCursorHidden = false
        drawn = []
    }

    /// Returns the escape sequence that moves the cursor to the beginning of the first line. If the window has become
    /// narrower, the terminal has wrapped each line to several rows.
    static func movingUp(_ widths: [Int], columns: Int) -> String {
        let rows = widths.reduce(0) { $0 + max(1, ($1 + columns - 1) / max(1, columns)) }
        return rows == 0 ? "" : "\u{1B}[\(rows)A\r"
    }
}
