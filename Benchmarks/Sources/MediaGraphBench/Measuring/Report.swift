/// The result of one comparison: text for the reader, and the broken bars.
struct Report: Sendable {
    var title: String
    var text: String
    var broken: [String] = []
    var hasBars = true

    var markdown: String {
        let verdict = broken.isEmpty ? "All bars hold.\n" : "Broken:\n\n" + broken.map { "- \($0)\n" }.joined()
        return "### \(title)\n\n\(text)\n" + (hasBars ? "\n\(verdict)" : "")
    }
}

/// A Markdown table.
struct Table: CustomStringConvertible {
    var header: [String]
    var rows: [[String]] = []

    init(_ header: String...) { self.header = header }

    mutating func add(_ cells: String...) { rows.append(cells) }

    var description: String {
        let line = { (cells: [String]) in "| " + cells.joined(separator: " | ") + " |" }
        let rule = "|" + header.enumerated().map { $0.offset == 0 ? "---|" : "---:|" }.joined()
        return ([line(header), rule] + rows.map(line)).joined(separator: "\n")
    }
}

extension Double {
    /// Returns the number with this many decimal places.
    func text(_ digits: Int) -> String {
        var scaled = self
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        scaled = (self * scale).rounded() / scale
        guard digits > 0 else { return "\(Int(scaled))" }
        let parts = "\(scaled)".split(separator: ".")
        let fraction = parts.count > 1 ? String(parts[1].prefix(digits)) : ""
        return "\(parts[0]).\(fraction)" + String(repeating: "0", count: digits - fraction.count)
    }
}
