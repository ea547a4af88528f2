import Foundation

/// Measures text in terminal columns, and truncates, pads and wraps it.
enum TextWidth {
    static func columns(_ text: String) -> Int { text.reduce(0) { $0 + columns($1) } }

    /// East Asian wide characters and emoji take two columns; a combining mark is part of its character.
    private static func columns(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }

    /// Returns the text in at most `width` columns, ending in "…" if it was cut.
    static func truncated(_ text: String, to width: Int) -> String {
        guard columns(text) > width else { return text }
        var result = ""
        var used = 0
        for character in text {
            used += columns(character)
            guard used < width else { break }
            result.append(character)
        }
        return width > 0 ? result + "…" : ""
    }

    static func padded(_ text: String, to width: Int, alignsRight: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - columns(text)))
        return alignsRight ? space + text : text + space
    }

    /// Returns text that is safe to print on one line: control characters are replaced by visible symbols, tabs and
    /// line breaks by spaces.
    static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.value {
                    case 0x09, 0x0A, 0x0D: " "
                    case 0..<0x20: Unicode.Scalar(0x2400 + scalar.value) ?? " "
                    case 0x7F..<0xA0: "\u{FFFD}"
                    default: scalar
                    }
                }))
    }

    /// Wraps text that begins after `indent` columns to the window, so that the terminal doesn't break it within words.
    /// Returns the text unchanged if the stream isn't a terminal.
    static func fitted(_ text: String, behind indent: Int, on stream: FileHandle) -> String {
        guard isatty(stream.fileDescriptor) == 1 else { return text }
        let width = Terminal.size(stream).columns
        return columns(text) + indent > width ? wrapped(text, to: width, indent: indent) : text
    }

    /// Breaks text into lines of at most `width` columns. All lines but the first are indented by `indent` spaces.
    static func wrapped(_ text: String, to width: Int, indent: Int) -> String {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, columns(line) + 1 + columns(String(word)) > max(20, width - indent) {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " \(word)"
        }
        lines.append(line)
        return lines.joined(separator: "\n" + String(repeating: " ", count: indent))
    }
}
