/// A problem in a description, with its place in the text.
public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// How serious a problem is.
    public enum Severity: String, Sendable {
        /// The description won't run.
        case error
        /// The description runs, but probably not as intended.
        case warning
    }

    /// How serious the problem is.
    public let severity: Severity
    /// The problem in one sentence.
    public let message: String
    /// The place of the problem in the text.
    public let range: SourceRange
    /// What to do about the problem: `did you mean "videotestsrc"?`
    public let hint: String?
    /// The text of the line in which `range` begins.
    public let sourceLine: String

    /// Creates a diagnostic for a problem at `range`.
    ///
    /// - Parameters:
    ///   - hint: what to write instead.
    ///   - sourceLine: the whole line in which `range` begins; the caret is printed below it.
    public init(severity: Severity, message: String, range: SourceRange, hint: String? = nil, sourceLine: String) {
        self.severity = severity
        self.message = message
        self.range = range
        self.hint = hint
        self.sourceLine = sourceLine
    }

    /// The same text as `rendered(color: false)`.
    public var description: String { rendered(color: false) }

    /// Returns the message and its place in the format of compilers, and below it the line with a caret and the hint:
    /// ```
    /// call.pipeline:4:11: error: no element "preprocesor"
    ///    4 | v4l2src ! preprocesor handler=blur ! call.camera
    ///      |           ^~~~~~~~~~~ did you mean "preprocessor"?
    /// ```
    ///
    /// - Parameters:
    ///   - color: whether to color the text with terminal escape sequences.
    ///   - columns: the width of the terminal. Of a longer line only the part around the caret is shown, because the
    ///     caret would point to the wrong place below a wrapped line.
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

/// The part of a source line that a diagnostic shows, and the indentation of the caret below it.
private struct Excerpt {
    var text: String
    var indent: String
    var length: Int

    private static let ellipsis = "… "

    /// - Parameter columns: the space for the excerpt. The last column stays free, because some terminals wrap a line
    ///   that fills it.
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
        // A tab goes below a tab, so that the caret lines up for any tab width.
        indent =
            String(repeating: " ", count: before.count)
            + Self.string(scalars[window.lowerBound..<start].map { $0 == "\t" ? "\t" : " " })
        self.length = max(1, min(length, window.upperBound - start))
    }

    private static func string(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        String(String.UnicodeScalarView(scalars))
    }

    /// Replaces control characters by visible symbols: text from a file must not send commands to the terminal.
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

/// The error of a description that can't be used.
public struct DescriptionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The problems, in the order of the text; never empty.
    public let diagnostics: [Diagnostic]

    /// Creates an error with these diagnostics.
    public init(diagnostics: [Diagnostic]) {
        self.diagnostics = diagnostics
    }

    /// All diagnostics, one below the other.
    public var description: String { diagnostics.map(\.description).joined(separator: "\n") }
}
