import GStreamer

/// Finds loops of links. No GStreamer function refuses such a link, and the first query that travels around the loop
/// overflows the stack of the querying thread.
enum LoopCheck {
    static func problems(in context: CheckContext) -> [Problem] {
        // The links from each element.
        var links: [Int: [(link: ParsedLink, sink: Int)]] = [:]
        for link in context.parsed.links {
            guard let source = context.element(of: link.source), let sink = context.element(of: link.sink),
                source != sink, passes(source, context), passes(sink, context)
            else { continue }
            links[source, default: []].append((link, sink))
        }
        var visit = Visit(links: links)
        for element in links.keys.sorted() { visit.follow(element) }
        return visit.loops.map { loop in
            let labels = (loop.elements + loop.elements.prefix(1)).map(context.label)
            return Problem(
                place: .expanded(loop.link.range),
                message: "these elements are linked in a loop: \(shortened(labels).joined(separator: " → "))",
                hint: "GStreamer can't run a loop; to feed frames back, use intervideosink and intervideosrc")
        }
    }

    /// Returns whether the element's input reaches its output. A bin with request or sometimes pads keeps its streams
    /// apart.
    private static func passes(_ index: Int, _ context: CheckContext) -> Bool {
        guard let factory = context.factories[index] else { return false }
        guard factory.isBin else { return true }
        return !factory.padTemplates.isEmpty && factory.padTemplates.allSatisfy { $0.presence == .always }
    }

    private static func shortened(_ labels: [String]) -> [String] {
        labels.count <= 8 ? labels : labels.prefix(4) + ["…"] + labels.suffix(3)
    }

    /// A depth-first search. It doesn't use recursion, because a chain may have thousands of elements.
    private struct Visit {
        let links: [Int: [(link: ParsedLink, sink: Int)]]
        private(set) var loops: [(link: ParsedLink, elements: [Int])] = []
        private var isDone: Set<Int> = []

        init(links: [Int: [(link: ParsedLink, sink: Int)]]) { self.links = links }

        mutating func follow(_ start: Int) {
            guard !isDone.contains(start) else { return }
            var path = [(element: start, next: 0)]
            var positions = [start: 0]
            while let (element, next) = path.last {
                let onward = links[element] ?? []
                guard next < onward.count else {
                    path.removeLast()
                    positions[element] = nil
                    isDone.insert(element)
                    continue
                }
                path[path.count - 1].next += 1
                let (link, sink) = onward[next]
                if let position = positions[sink] {
                    loops.append((link, path[position...].map(\.element)))
                } else if !isDone.contains(sink) {
                    positions[sink] = path.count
                    path.append((sink, 0))
                }
            }
        }
    }
}
