/// A range in a description's text. Lines and columns begin at 1. Columns and lengths count Unicode scalars; a tab
/// counts as one.
public struct SourceRange: Sendable, Hashable {
    /// The name of the description: its file's path, or "description".
    public let file: String
    /// The line, from 1.
    public let line: Int
    /// The column, from 1.
    public let column: Int
    /// The number of scalars that the range covers in its first line; 0 at the end of the text.
    public let length: Int

    /// Creates a range within one line. `line` and `column` count from 1.
    public init(file: String, line: Int, column: Int, length: Int) {
        self.file = file
        self.line = line
        self.column = column
        self.length = length
    }
}

/// The source of a description, addressed by UTF-8 offsets.
struct SourceText: Sendable {
    let name: String
    let bytes: [UInt8]
    private let lineStarts: [Int]

    init(_ text: String, name: String) {
        self.name = name
        let bytes = Array(text.utf8)
        self.bytes = bytes
        lineStarts = [0] + bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }.map { $0 + 1 }
    }

    func range(_ offsets: Range<Int>) -> SourceRange {
        let line = lineIndex(of: offsets.lowerBound)
        let end = min(max(offsets.upperBound, offsets.lowerBound), lineEnd(line))
        return SourceRange(
            file: name, line: line + 1,
            column: scalars(lineStarts[line]..<offsets.lowerBound) + 1,
            length: end > offsets.lowerBound ? scalars(offsets.lowerBound..<end) : 0)
    }

    /// Returns the line in which the range begins, without its line break.
    func line(of offsets: Range<Int>) -> String {
        let line = lineIndex(of: offsets.lowerBound)
        return text(lineStarts[line]..<lineEnd(line))
    }

    func text(_ offsets: Range<Int>) -> String { String(decoding: bytes[offsets], as: UTF8.self) }

    private func lineIndex(of offset: Int) -> Int {
        var low = 0
        var high = lineStarts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if lineStarts[middle] <= offset { low = middle } else { high = middle }
        }
        return low
    }

    private func lineEnd(_ line: Int) -> Int {
        guard line + 1 < lineStarts.count else { return bytes.count }
        let end = lineStarts[line + 1] - 1
        return end > lineStarts[line] && bytes[end - 1] == UInt8(ascii: "\r") ? end - 1 : end
    }

    private func scalars(_ offsets: Range<Int>) -> Int {
        bytes[offsets].count { $0 & 0b1100_0000 != 0b1000_0000 }
    }
}
