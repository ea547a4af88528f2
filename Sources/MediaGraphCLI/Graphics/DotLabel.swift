/// What stands in an element's box: its factory, its name, its properties, and at the edges the pads that links name.
struct DotLabel {
    enum Side: String { case left = "w", right = "e", top = "n", bottom = "s" }

    struct Pads {
        var names: [String] = []
        var side: Side

        mutating func add(_ name: String) { if !names.contains(name) { names.append(name) } }
    }

    var factory: String
    var name: String?
    /// A property each.
    var lines: [String]
    var sinks = Pads(side: .left)
    var sources = Pads(side: .right)

    /// About how wide the box becomes, in points: only Graphviz knows the fonts.
    var width: Double {
        let heading = [factory, name ?? ""].map { Double(TextWidth.columns(DotText.shortened($0))) * 7 }
        let text = heading + lines.map { Double(TextWidth.columns($0)) * 5 }
        let pads = [sinks, sources].map { Double($0.names.map(TextWidth.columns).max() ?? 0) * 5 }
        return (text.max() ?? 0) + pads.reduce(16, +)
    }

    /// The factory, the name and the properties.
    var body: String {
        var heading = ["<b>\(DotText.html(DotText.shortened(factory)))</b>"]
        if let name, !name.isEmpty { heading.append("<i>\(DotText.html(DotText.shortened(name)))</i>") }
        var rows = "<tr><td>\(heading.joined(separator: "<br/>"))</td></tr>"
        if !lines.isEmpty { rows += "<tr><td align=\"left\" balign=\"left\">\(DotText.small(lines))</td></tr>" }
        return "<table border=\"0\" cellspacing=\"0\" cellpadding=\"1\">\(rows)</table>"
    }

    /// The box's text with its pads around it.
    var html: String {
        let sides = [(sinks, "i"), (sources, "o")].filter { !$0.0.names.isEmpty }
        func cells(_ side: Side) -> [String] {
            sides.filter { $0.0.side == side }.map { Self.cells($0.0, prefix: $0.1) }
        }
        let across = cells(.left) + ["<td cellpadding=\"7\">\(body)</td>"] + cells(.right)
        let rows = cells(.top).map { [$0] } + [across] + cells(.bottom).map { [$0] }
        return Self.table(rows.map { "<tr>\($0.joined())</tr>" }.joined(), padding: 0)
    }

    /// Where a link to or from a pad ends; `nil` where all ends of the side are the same.
    func port(ofSink name: String?) -> String? { Self.port(name, of: sinks, prefix: "i") }
    func port(ofSource name: String?) -> String? { Self.port(name, of: sources, prefix: "o") }

    private static func port(_ name: String?, of pads: Pads, prefix: String) -> String? {
        pads.names.firstIndex(of: name ?? "").map { ":\(prefix)\($0):\(pads.side.rawValue)" }
    }

    /// A column of pads at the left or right, a row of them at the top or bottom.
    private static func cells(_ pads: Pads, prefix: String) -> String {
        let cells = pads.names.enumerated().map { index, name in
            "<td port=\"\(prefix)\(index)\">\(DotText.small([name.isEmpty ? "\u{A0}" : DotText.shortened(name)], size: 8))</td>"
        }
        let isRow = pads.side == .top || pads.side == .bottom
        let rows = isRow ? "<tr>\(cells.joined())</tr>" : cells.map { "<tr>\($0)</tr>" }.joined()
        return "<td>\(table(rows, padding: 3))</td>"
    }

    private static func table(_ rows: String, padding: Int) -> String {
        "<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"\(padding)\">\(rows)</table>"
    }
}

/// Text in Graphviz's language.
enum DotText {
    private static let mostLines = 8
    private static let longestValue = 44

    /// The first lines, and how many there are more.
    static func limited(_ lines: [String]) -> [String] {
        lines.count <= mostLines ? lines : lines.prefix(mostLines - 1) + ["and \(lines.count - mostLines + 1) more"]
    }

    /// What is cut is in the middle: the end of a path says more.
    static func shortened(_ text: String) -> String {
        let text = TextWidth.printable(text)
        guard TextWidth.columns(text) > longestValue else { return text }
        return TextWidth.truncated(text, to: longestValue / 2) + text.suffix(longestValue / 2)
    }

    static func html(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }

    /// Lines below one another, with their own escapes.
    static func small(_ lines: [String], size: Int = 9) -> String {
        "<font point-size=\"\(size)\" color=\"#43506a\">\(lines.map(html).joined(separator: "<br/>"))</font>"
    }

    /// A field a line: `video/x-raw`, `format=I420`, …
    static func fields(ofCaps caps: String) -> [String] {
        var fields: [String] = []
        var field = ""
        var depth = 0
        var isQuoted = false
        for character in caps {
            switch character {
            case "\"": isQuoted.toggle()
            case "{", "[", "(": depth += 1
            case "}", "]", ")": depth -= 1
            default: break
            }
            if character == ",", depth <= 0, !isQuoted {
                fields.append(field)
                field = ""
            } else {
                field.append(character)
            }
        }
        fields.append(field)
        return limited(fields.map { shortened(String($0.drop { $0.isWhitespace })) }.filter { !$0.isEmpty })
    }
}
