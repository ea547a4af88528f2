/// The content of an element's box: its factory, its name, its properties, and along the edges the pads that links
/// name.
struct DotLabel {
    /// A side of the box; raw values are Graphviz's compass points.
    enum Side: String { case left = "w", right = "e", top = "n", bottom = "s" }

    struct Pads {
        var names: [String] = []
        var side: Side

        mutating func add(_ name: String) { if !names.contains(name) { names.append(name) } }
    }

    var factory: String
    var name: String?
    /// The properties, one per line.
    var lines: [String]
    var sinks = Pads(side: .left)
    var sources = Pads(side: .right)

    /// The approximate width of the box in points. Only Graphviz knows the fonts.
    var width: Double {
        let heading = [factory, name ?? ""].map { Double(TextWidth.columns(DotText.shortened($0))) * 7 }
        let text = heading + lines.map { Double(TextWidth.columns($0)) * 5 }
        let pads = [sinks, sources].map { Double($0.names.map(TextWidth.columns).max() ?? 0) * 5 }
        return (text.max() ?? 0) + pads.reduce(16, +)
    }

    /// The factory, the name and the properties, as a table.
    var body: String {
        var heading = ["<b>\(DotText.html(DotText.shortened(factory)))</b>"]
        if let name, !name.isEmpty { heading.append("<i>\(DotText.html(DotText.shortened(name)))</i>") }
        var rows = "<tr><td>\(heading.joined(separator: "<br/>"))</td></tr>"
        if !lines.isEmpty { rows += "<tr><td align=\"left\" balign=\"left\">\(DotText.small(lines))</td></tr>" }
        return "<table border=\"0\" cellspacing=\"0\" cellpadding=\"1\">\(rows)</table>"
    }

    /// The whole content of the box: the body with the pads around it.
    var html: String {
        let sides = [(sinks, "i"), (sources, "o")].filter { !$0.0.names.isEmpty }
        func cells(_ side: Side) -> [String] {
            sides.filter { $0.0.side == side }.map { Self.cells($0.0, prefix: $0.1) }
        }
        let across = cells(.left) + ["<td cellpadding=\"7\">\(body)</td>"] + cells(.right)
        let rows = cells(.top).map { [$0] } + [across] + cells(.bottom).map { [$0] }
        return Self.table(rows.map { "<tr>\($0.joined())</tr>" }.joined(), padding: 0)
    }

    /// Returns the Graphviz port at which a link to a pad ends; `nil` if the box doesn't show its pads on that side.
    func port(ofSink name: String?) -> String? { Self.port(name, of: sinks, prefix: "i") }
    /// Returns the Graphviz port at which a link from a pad begins; `nil` if the box doesn't show its pads on that
    /// side.
    func port(ofSource name: String?) -> String? { Self.port(name, of: sources, prefix: "o") }

    private static func port(_ name: String?, of pads: Pads, prefix: String) -> String? {
        pads.names.firstIndex(of: name ?? "").map { ":\(prefix)\($0):\(pads.side.rawValue)" }
    }

    /// Returns the pads as a column on the left or right side, or as a row at the top or bottom.
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

/// Text for Graphviz labels, which are a subset of HTML.
enum DotText {
    private static let mostLines = 8
    private static let longestValue = 44

    /// Limits the number of lines. If there are too many, the last line says how many are left out.
    static func limited(_ lines: [String]) -> [String] {
        lines.count <= mostLines ? lines : lines.prefix(mostLines - 1) + ["and \(lines.count - mostLines + 1) more"]
    }

    /// Shortens a long text in the middle: the end of a path tells more than its middle.
    static func shortened(_ text: String) -> String {
        let text = TextWidth.printable(text)
        guard TextWidth.columns(text) > longestValue else { return text }
        return TextWidth.truncated(text, to: longestValue / 2) + text.suffix(longestValue / 2)
    }

    static func html(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }

    /// Escapes lines and stacks them in a small font.
    static func small(_ lines: [String], size: Int = 9) -> String {
        "<font point-size=\"\(size)\" color=\"#43506a\">\(lines.map(html).joined(separator: "<br/>"))</font>"
    }

    /// Splits caps into one line per field: `video/x-raw`, `format=I420`, …
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
