import MediaGraph

/// A description as a drawing for Graphviz: elements with what the text sets on them, links with their caps.
struct DotPicture {
    let outline: DescriptionOutline
    var title: String?
    /// Elements that are drawn as MediaGraph's own.
    var ownFactories: Set<String> = []

    private static let mostLines = 8
    private static let longestValue = 44

    var text: String {
        var lines = [
            "digraph mediagraph {",
            "  rankdir=LR; compound=true; bgcolor=white; pad=0.3; nodesep=0.35; ranksep=0.55;",
            "  fontname=\"Helvetica,Arial,sans-serif\"; fontsize=15; labelloc=t; labeljust=l;",
            "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#f4f5f7\", color=\"#8a94a6\", penwidth=1.2,"
                + " margin=\"0.16,0.1\", fontname=\"Helvetica,Arial,sans-serif\", fontsize=11, fontcolor=\"#1f2933\"];",
            "  edge [color=\"#5b6675\", arrowsize=0.7, fontname=\"Helvetica,Arial,sans-serif\", fontsize=9,"
                + " fontcolor=\"#43506a\"];",
        ]
        if let title { lines.append("  label=\(Self.quoted(TextWidth.printable(title)));") }
        lines += elements(in: nil, indent: "  ")
        lines += outline.links.map { "  " + edge($0) }
        lines.append("}")
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: Elements

    private func elements(in parent: Int?, indent: String) -> [String] {
        outline.elements.indices.filter { outline.elements[$0].parent == parent }.flatMap { index -> [String] in
            let element = outline.elements[index]
            guard element.kind == .bin else { return ["\(indent)n\(index) [\(node(element))];"] }
            return [
                "\(indent)subgraph cluster\(index) {",
                "\(indent)  label=<\(label(element))>; style=\"rounded,dashed\"; color=\"#8a94a6\"; fontsize=11;",
            ] + elements(in: index, indent: indent + "  ") + ["\(indent)}"]
        }
    }

    private func node(_ element: DescriptionOutline.Element) -> String {
        let own = " fillcolor=\"#dcebff\", color=\"#2563c9\", penwidth=1.8,"
        return (ownFactories.contains(element.factory) ? own : "") + " label=<\(label(element))>"
    }

    private func label(_ element: DescriptionOutline.Element) -> String {
        var lines = ["<b>\(Self.html(Self.shortened(element.factory)))</b>"]
        if let name = element.name { lines.append("<i>\(Self.html(Self.shortened(name)))</i>") }
        let properties = element.properties.map { property in
            "\(Self.html(property.name)) = \(Self.html(Self.shortened(property.value)))"
        }
        lines += Self.limited(properties).map { "<font point-size=\"9\" color=\"#43506a\">\($0)</font>" }
        return lines.joined(separator: "<br/>")
    }

    // MARK: Links

    private func edge(_ link: DescriptionOutline.Link) -> String {
        var attributes: [String] = []
        if let filter = link.filter { attributes.append("label=\(Self.quoted(Self.capsLines(filter)))") }
        if !link.sourcePads.isEmpty {
            attributes.append("taillabel=\(Self.quoted(link.sourcePads.joined(separator: ", ")))")
        }
        if !link.sinkPads.isEmpty {
            attributes.append("headlabel=\(Self.quoted(link.sinkPads.joined(separator: ", ")))")
        }
        let (source, sink) = (end(link.source, isSource: true), end(link.sink, isSource: false))
        if let bin = source.bin { attributes.append("ltail=cluster\(bin)") }
        if let bin = sink.bin { attributes.append("lhead=cluster\(bin)") }
        let suffix = attributes.isEmpty ? "" : " [\(attributes.joined(separator: ", "))]"
        return "n\(source.node) -> n\(sink.node)\(suffix);"
    }

    /// Graphviz links nodes, not clusters: a link to a bin goes to an element in it.
    private func end(_ index: Int, isSource: Bool) -> (node: Int, bin: Int?) {
        guard outline.elements[index].kind == .bin else { return (index, nil) }
        let inside = outline.elements.indices.filter { candidate in
            guard outline.elements[candidate].kind != .bin else { return false }
            var parent = outline.elements[candidate].parent
            while let bin = parent, bin != index { parent = outline.elements[bin].parent }
            return parent == index
        }
        return ((isSource ? inside.last : inside.first) ?? index, index)
    }

    /// A field a line: `video/x-raw`, `format=I420`, …
    private static func capsLines(_ caps: String) -> String {
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
        let trimmed = fields.map { shortened(String($0.drop { $0.isWhitespace })) }
        return limited(trimmed).joined(separator: "\n")
    }

    // MARK: Text

    private static func limited(_ lines: [String]) -> [String] {
        lines.count <= mostLines ? lines : lines.prefix(mostLines - 1) + ["and \(lines.count - mostLines + 1) more"]
    }

    private static func shortened(_ text: String) -> String {
        TextWidth.truncated(TextWidth.printable(text), to: longestValue)
    }

    private static func html(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }

    /// A string of Graphviz's language. A backslash would begin one of its escapes.
    private static func quoted(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
        return "\"\(escaped)\""
    }
}
