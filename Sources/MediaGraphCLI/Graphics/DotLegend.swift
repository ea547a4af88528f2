/// The legend of a drawing, which explains the colors and lines that occur in it.
struct DotLegend {
    enum Kind: CaseIterable {
        case node, element, uri, bin, room, lateLink

        /// The Graphviz attributes.
        var look: String {
            switch self {
            case .node: "fillcolor=\"\(fill)\", color=\"\(line)\", penwidth=1.8"
            case .element: "fillcolor=\"\(fill)\", color=\"\(line)\""
            case .uri: "shape=note, style=filled, fillcolor=\"\(fill)\", color=\"\(line)\""
            case .bin: "style=\"rounded,dashed\", color=\"\(line)\""
            case .room: "style=\"rounded,filled\", fillcolor=\"\(fill)\", color=\"\(line)\""
            case .lateLink: "style=dashed"
            }
        }

        private var fill: String {
            switch self {
            case .node: "#dcebff"
            case .element: "#f4f5f7"
            case .uri: "#e3f4e4"
            case .bin, .lateLink: "#ffffff"
            case .room: "#fdf3dc"
            }
        }

        var line: String {
            switch self {
            case .node: "#2563c9"
            case .element, .bin, .lateLink: "#8a94a6"
            case .uri: "#4f8a55"
            case .room: "#d3a03b"
            }
        }

        fileprivate var meaning: String {
            switch self {
            case .node: "MediaGraph node"
            case .element: "GStreamer element"
            case .uri: "URI"
            case .bin: "bin"
            case .room: "session room"
            case .lateLink: "linked at run time"
            }
        }

        private var sample: String {
            switch self {
            case .node, .element, .uri, .room: "■"
            case .bin: "┄"
            case .lateLink: "⇢"
            }
        }

        /// A colored symbol and its meaning.
        fileprivate var entry: String {
            "<font color=\"\(line)\" point-size=\"11\">\(sample)</font> \(DotText.small([meaning], size: 8))"
        }
    }

    let kinds: Set<Kind>

    /// Returns the title with the legend below it; `nil` if there is neither. A single kind needs no legend.
    func label(title: String?) -> String? {
        var rows: [String] = []
        if let title {
            let lines = TextWidth.wrapped(TextWidth.printable(title), to: 80, indent: 0).split(separator: "\n")
            rows.append(
                "<td align=\"left\" balign=\"left\">\(lines.map { DotText.html(String($0)) }.joined(separator: "<br/>"))</td>"
            )
        }
        if kinds.count > 1 {
            let entries = Kind.allCases.filter(kinds.contains).map(\.entry)
            rows.append("<td align=\"left\">\(entries.joined(separator: "\u{A0}\u{A0}\u{A0} "))</td>")
        }
        guard !rows.isEmpty else { return nil }
        let table = rows.map { "<tr>\($0)</tr>" }.joined()
        return "<table border=\"0\" cellspacing=\"0\" cellpadding=\"2\">\(table)</table>"
    }
}
