import GStreamer
import MediaGraph

/// A drawing of a description in Graphviz's language: elements with the properties that the description sets, links
/// with their caps, and the rooms of sessions.
struct DotPicture {
    /// An arrow between two boxes. A link of several pads has one edge per pair of pads.
    private struct Edge {
        var source: Int
        var sink: Int
        /// The bins that the link leaves and enters. For Graphviz the edge joins an element in each of them.
        var sourceBin: Int?
        var sinkBin: Int?
        var sourcePad: String?
        var sinkPad: String?
        var lines: [String]
        /// Whether GStreamer creates the link only while the graph runs.
        var isLate: Bool
    }

    /// The sessions of a room that are in the same bin. A room with sessions in several bins is drawn in each bin.
    private struct Room {
        var name: String
        var parent: Int?
        var sessions: [Int]
    }

    private let elements: [DescriptionOutline.Element]
    private let edges: [Edge]
    private let rooms: [Room]
    private let labels: [DotLabel]
    private let rows: DotRows
    private let title: String?
    private let ownFactories: Set<String>

    /// Lays out the drawing. Elements of `ownFactories` are drawn as MediaGraph's nodes.
    init(outline: DescriptionOutline, title: String? = nil, ownFactories: Set<String> = []) {
        (elements, self.title, self.ownFactories) = (outline.elements, title, ownFactories)
        edges = outline.links.flatMap { Self.edges($0, elements: outline.elements) }
        rooms = Self.rooms(outline.elements)
        var labels = elements.map { element in
            DotLabel(
                factory: element.factory, name: element.name,
                lines: DotText.limited(DotProperties(element).lines))
        }
        for edge in edges {
            if let pad = edge.sourcePad { labels[edge.source].sources.add(pad) }
            if let pad = edge.sinkPad { labels[edge.sink].sinks.add(pad) }
        }
        for edge in edges {
            // If a box shows named pads, links to unnamed pads end at a cell without a name.
            if edge.sourcePad == nil, !labels[edge.source].sources.names.isEmpty { labels[edge.source].sources.add("") }
            if edge.sinkPad == nil, !labels[edge.sink].sinks.names.isEmpty { labels[edge.sink].sinks.add("") }
        }
        let boxes = elements.indices.filter { outline.elements[$0].kind != .bin }
        rows = DotRows(
            widths: Dictionary(uniqueKeysWithValues: boxes.map { ($0, labels[$0].width) }),
            links: edges.map { edge in
                let ends = [outline.elements[edge.source], outline.elements[edge.sink]]
                return DotRows.Link(
                    source: edge.source, sink: edge.sink,
                    width: Double(edge.lines.map(TextWidth.columns).max() ?? 0) * 5,
                    // A row can't cross the border of a bin or a room.
                    isRun: ends[0].parent == ends[1].parent && !ends.contains(where: \.isSession))
            })
        if rows.isDownward {
            for index in boxes {
                guard let position = rows.position(of: index) else { continue }
                let (before, after): (DotLabel.Side, DotLabel.Side) =
                    position.isBackward ? (.right, .left) : (.left, .right)
                labels[index].sinks.side = position.isFirst ? .top : before
                labels[index].sources.side = position.isLast ? .bottom : after
            }
        }
        self.labels = labels
    }

    /// The drawing's text in Graphviz's language.
    var text: String {
        var lines = [
            "digraph mediagraph {",
            "  rankdir=\(rows.isDownward ? "TB" : "LR"); compound=true; bgcolor=white; pad=0.3; nodesep=0.4; ranksep=0.5;",
            "  fontname=\"\(Self.font)\"; fontsize=15; labelloc=t; labeljust=l;",
            "  node [shape=box, style=\"rounded,filled\", \(DotLegend.Kind.element.look), penwidth=1.2,"
                + " margin=0, fontname=\"\(Self.font)\", fontsize=11, fontcolor=\"#1f2933\"];",
            "  edge [color=\"#5b6675\", arrowsize=0.7, fontname=\"\(Self.font)\", fontsize=9,"
                + " fontcolor=\"#43506a\"];",
        ]
        if let label = DotLegend(kinds: kinds).label(title: title) { lines.append("  label=<\(label)>;") }
        lines += content(of: nil, indent: "  ")
        lines += edges.enumerated().flatMap { text(of: $1, number: $0).map { "  " + $0 } }
        lines += roomLinks.map { "  " + $0 }
        lines.append("}")
        return lines.joined(separator: "\n") + "\n"
    }

    private static let font = "Helvetica,Arial,sans-serif"

    // MARK: Elements

    private func kind(_ element: DescriptionOutline.Element) -> DotLegend.Kind {
        switch element.kind {
        case .bin: .bin
        case .uri: .uri
        case .element: ownFactories.contains(element.factory) ? .node : .element
        }
    }

    private var kinds: Set<DotLegend.Kind> {
        Set(
            elements.map(kind) + (rooms.isEmpty ? [] : [.room])
                + (edges.contains(where: \.isLate) ? [.lateLink] : []))
    }

    /// Returns the boxes and frames inside a bin, or at the top level if `parent` is `nil`.
    private func content(of parent: Int?, indent: String) -> [String] {
        let inside = elements.indices.filter { elements[$0].parent == parent }
        let boxes = inside.filter { elements[$0].kind != .bin && !elements[$0].isSession }
        return boxes.map { indent + node($0) }
            + rooms.indices.filter { rooms[$0].parent == parent }.flatMap { index in
                cluster(
                    "room\(index)", .room, label: "room <b>\(DotText.html(DotText.shortened(rooms[index].name)))</b>",
                    rooms[index].sessions.map { "\(indent)  \(node($0))" }, indent: indent)
            }
            + inside.filter { elements[$0].kind == .bin }.flatMap { index in
                cluster(
                    "\(index)", .bin, label: labels[index].body, content(of: index, indent: indent + "  "),
                    indent: indent)
            }
            + rows.runs.indices.filter { elements[rows.runs[$0][0][0]].parent == parent }.flatMap {
                run($0, indent: indent)
            }
    }

    /// Returns the invisible frame that keeps the rows of a run together. In a row, caps are nodes of their own,
    /// because Graphviz reserves no space for the labels of links within a rank.
    private func run(_ index: Int, indent: String) -> [String] {
        let run = rows.runs[index]
        guard run.count > 1 || run[0].count > 1 else { return [] }
        let lines = run.map { "  { rank=same; \($0.map { "n\($0);" }.joined(separator: " ")) }" }
        let caps = edges.enumerated().filter { _, edge in
            !edge.lines.isEmpty && rows.row(joining: edge.source, edge.sink)?.run == index
        }.map { number, edge in
            "  { rank=same; n\(edge.source); caps\(number) [shape=plain, style=\"\", fontsize=9, fontcolor=\"#43506a\", label=<\(Self.caps(edge))>]; }"
        }
        return (["subgraph clusterrun\(index) { style=invis; label=\"\"; margin=4;"] + lines + caps + ["}"]).map {
            indent + $0
        }
    }

    private func cluster(
        _ id: String, _ kind: DotLegend.Kind, label: String, _ content: [String], indent: String
    ) -> [String] {
        // The title is a node, because Graphviz draws links across the label of a frame, but around nodes.
        [
            "\(indent)subgraph cluster\(id) {",
            "\(indent)  graph [label=\"\", \(kind.look)];",
            "\(indent)  title\(id) [shape=plain, style=\"\", label=<\(label)>];",
        ] + content + ["\(indent)}"]
    }

    private func node(_ index: Int) -> String {
        let kind = kind(elements[index])
        let look = kind == .element ? "" : "\(kind.look), "
        return "n\(index) [\(look)label=<\(labels[index].html)>];"
    }

    // MARK: Links

    private func text(of edge: Edge, number: Int) -> [String] {
        var attributes = edge.isLate ? [DotLegend.Kind.lateLink.look] : []
        if let bin = edge.sourceBin { attributes.append("ltail=cluster\(bin)") }
        if let bin = edge.sinkBin { attributes.append("lhead=cluster\(bin)") }
        func line(_ source: String, _ sink: String, _ more: [String]) -> String {
            let attributes = attributes + more
            return "\(source) -> \(sink)\(attributes.isEmpty ? "" : " [\(attributes.joined(separator: ", "))]");"
        }
        let (source, sink) = ("n\(edge.source)", "n\(edge.sink)")
        if let row = rows.row(joining: edge.source, edge.sink) {
            let stops = [source] + (edge.lines.isEmpty ? [] : ["caps\(number)"]) + [sink]
            return zip(stops, stops.dropFirst()).map { from, to in
                let arrow = to == sink ? [] : ["arrowhead=none", "arrowtail=none"]
                return row.isBackward ? line(to, from, ["dir=back"] + arrow) : line(from, to, arrow)
            }
        }
        let (tail, head) = rows.isDownward ? (":s", ":n") : (":e", ":w")
        return [
            line(
                source + (labels[edge.source].port(ofSource: edge.sourcePad) ?? tail),
                sink + (labels[edge.sink].port(ofSink: edge.sinkPad) ?? head),
                edge.lines.isEmpty ? [] : ["label=<\(Self.caps(edge))>"])
        ]
    }

    private static func caps(_ edge: Edge) -> String {
        let text = edge.lines.map(DotText.html).joined(separator: "<br/>")
        return "<table border=\"0\" cellspacing=\"0\" cellpadding=\"3\"><tr><td>\(text)</td></tr></table>"
    }

    private static func edges(
        _ link: DescriptionOutline.Link, elements: [DescriptionOutline.Element]
    ) -> [Edge] {
        let source = end(link.source, isSource: true, elements: elements)
        let sink = end(link.sink, isSource: false, elements: elements)
        let isLate = elements[link.source].givesPadsLate
        let caps = link.filter.map(DotText.fields(ofCaps:)) ?? []
        return (0..<max(1, link.sourcePads.count, link.sinkPads.count)).map { number in
            func pad(_ pads: [String]) -> String? { pads.indices.contains(number) ? pads[number] : nil }
            return Edge(
                source: source.node, sink: sink.node, sourceBin: source.bin, sinkBin: sink.bin,
                // A bin has no box that could show pads.
                sourcePad: source.bin == nil ? pad(link.sourcePads) : nil,
                sinkPad: sink.bin == nil ? pad(link.sinkPads) : nil, lines: caps, isLate: isLate)
        }
    }

    /// Returns the node at which a link ends, and the bin if it ends at one. Graphviz can only link nodes, so a link to
    /// a bin goes to an element in the bin.
    private static func end(
        _ index: Int, isSource: Bool, elements: [DescriptionOutline.Element]
    ) -> (node: Int, bin: Int?) {
        guard elements[index].kind == .bin else { return (index, nil) }
        let inside = elements.indices.filter { candidate in
            guard elements[candidate].kind != .bin else { return false }
            var parent = elements[candidate].parent
            while let bin = parent, bin != index { parent = elements[bin].parent }
            return parent == index
        }
        return ((isSource ? inside.last : inside.first) ?? index, index)
    }

    // MARK: Rooms

    private static func rooms(_ elements: [DescriptionOutline.Element]) -> [Room] {
        var rooms: [Room] = []
        for (index, element) in elements.enumerated() where element.isSession {
            let name = element.room
            if let room = rooms.firstIndex(where: { $0.name == name && $0.parent == element.parent }) {
                rooms[room].sessions.append(index)
            } else {
                rooms.append(Room(name: name, parent: element.parent, sessions: [index]))
            }
        }
        return rooms
    }

    /// The lines that connect the parts of a room that is drawn in several bins.
    private var roomLinks: [String] {
        rooms.indices.compactMap { index in
            let room = rooms[index]
            guard let other = rooms[..<index].lastIndex(where: { $0.name == room.name }) else { return nil }
            return
                "n\(rooms[other].sessions[0]) -> n\(room.sessions[0]) [dir=none, style=dashed, color=\"\(DotLegend.Kind.room.line)\","
                + " constraint=false, ltail=clusterroom\(other), lhead=clusterroom\(index)];"
        }
    }
}
