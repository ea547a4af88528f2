/// One thing that is wrong, or odd, in a description, and where.
public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// How serious a problem is.
    public enum Severity: String, Sendable {
        /// The description won't run.
        case error
        /// It runs, but likely not as meant.
        case warning
    }

    /// How serious the problem is.
    public let severity: Severity
    /// What is wrong, in one sentence.
    public let message: String
    /// Where it is in the text.
    public let range: SourceRange
    /// What to do about it: `did you mean "videotestsrc"?`
    public let hint: String?
    /// The text of the line that `range` begins in.
    public let sourceLine: String

    /// A problem at `range`. `hint` says what to write instead; `sourceLine` is the whole line, for the caret.
    public init(severity: Severity, message: String, range: SourceRange, hint: String? = nil, sourceLine: String) {
        self.severity = severity
        self.message = message
        self.range = range
        self.hint = hint
        self.sourceLine = sourceLine
    }

    /// As `rendered(color: false)`.
    public var description: String { rendered(color: false) }

    /// The message with its place, as compilers write it, and below it the line with a caret and the hint:
    /// ```
    /// call.pipeline:4:11: error: no element "preprocesor"
    ///    4 | v4l2src ! preprocesor handler=blur ! call.camera
    ///      |           ^~~~~~~~~~~ did you mean "preprocessor"?
    /// ```
    ///
    /// - Parameter columns: how wide the reader's window is. A longer line is shown in part, around the caret: wrapped, the
    ///   caret would point nowhere.
    public func rendered(color: Bool, columns: Int = 122) -> String {
        func paint(_ text: String, _ code: String) -> String { color ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }
        let place = paint("\(range.file):\(range.line):\(range.column):", "1")
        let severity = paint("\(severity.rawValue):", self.severity == .error ? "1;31" : "1;35")
        let number = String(range.line)
        let margin = String(repeating: " ", count: max(0, 4 - number.count))
        let gutter = margin.count + number.count + " | ".count
        let excerpt = Excerpt(
            line: sourceLine, column: range.column, length: range.length, columns: columns - gutter)
        let carets = paint("^" + String(repeating: "~", count: max(0, excerpt.length - 1)), "1;32")
        return """
            \(place) \(severity) \(Excerpt.printable(message))
            \(margin)\(number) | \(excerpt.text)
            \(margin)\(String(repeating: " ", count: number.count)) | \(excerpt.indent)\(carets)\
            \(hint.map { " " + Excerpt.printable($0) } ?? "")
            """
    }
}

/// The part of a source line that is shown, and what stands before the caret below it.
private struct Excerpt {
    var text: String
    var indent: String
    var length: Int

    private static let ellipsis = "… "

    /// `columns` are all that there are, of which the last stays free: some terminals wrap a line that fills it.
    init(line: String, column: Int, length: Int, columns: Int) {
        let scalars = Array(line.unicodeScalars)
        let start = min(max(column - 1, 0), scalars.count)
        var window = scalars.indices
        if scalars.count >= columns {
            let width = max(20, columns - 1 - 2 * Self.ellipsis.count)
            let first = max(0, min(start - width / 3, scalars.count - width))
            window = first..<min(first + width, scalars.count)
        }
        let before = window.lowerBound > 0 ? Self.ellipsis : ""
        let after = window.upperBound < scalars.count ? " …" : ""
        text = before + Self.printable(Self.string(scalars[window])) + after
        // A tab below a tab, so that the caret lines up wherever the terminal puts its stops.
        indent =
            String(repeating: " ", count: before.count)
            + Self.string(scalars[window.lowerBound..<start].map { $0 == "\t" ? "\t" : " " })
        self.length = max(1, min(length, window.upperBound - start))
    }

    private static func string(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        String(String.UnicodeScalarView(scalars))
    }

    /// Control characters as their pictures: text from a file must not drive the terminal.
    static func printable(_ text: String) -> String {
        string(
            text.unicodeScalars.map { scalar in
                switch scalar.value {
                case 0x09: scalar
                case 0..<0x20: Unicode.Scalar(0x2400 + scalar.value) ?? scalar
                case 0x7F..<0xA0: "\u{FFFD}"
                default: scalar
                }
            })
    }
}

/// Why a description can't be used.
public struct DescriptionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, in the order of the text; never empty.
    public let diagnostics: [Diagnostic]

    /// An error with these problems.
    public init(diagnostics: [Diagnostic]) {
        self.diagnostics = diagnostics
    }

    /// All problems, one below the other.
    public var description: String { diagnostics.map(\.description).joined(separator: "\n") }
}
