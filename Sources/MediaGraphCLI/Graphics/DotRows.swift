/// How a picture keeps to the width of a page: it goes from left to right, or, where that would be too wide, downwards in
/// rows.
///
/// A run is a part without branches. Its rows go to and fro, so that each begins below the end of the one before.
struct DotRows {
    /// A link between elements that are drawn as boxes.
    struct Link {
        var source: Int
        var sink: Int
        /// Of its label, in points.
        var width: Double
        /// Whether a row may go on from the one to the other.
        var isRun: Bool
    }

    /// Where an element stands.
    struct Place: Equatable {
        var run: Int
        var row: Int
        var isFirst: Bool
        var isLast: Bool

        /// Every other row goes from right to left.
        var isBackward: Bool { !row.isMultiple(of: 2) }
    }

    /// How wide a picture from left to right may be, in points, as Graphviz counts them. It becomes somewhat wider than
    /// the sum of its boxes, for those of one rank aren't all as wide.
    private static let widest = 950.0
    private static let (arrow, rowHeight) = (40.0, 85.0)
    /// A page's width by its height.
    private static let pageShape = 1.8
    /// How many elements a row has at the most: in a chain, and where a run begins somewhere below the end of another.
    private static let (longestRow, longestBranchRow) = (8, 3)

    let isDownward: Bool
    /// The rows of each run; empty when the picture goes from left to right.
    let runs: [[[Int]]]
    private let places: [Int: Place]

    /// `widths` has the boxes, by the elements' indices.
    init(widths: [Int: Double], links: [Link]) {
        let nodes = widths.keys.sorted()
        func width(_ node: Int) -> Double { widths[node] ?? 0 }
        let starts = Self.longestPaths(
            to: nodes, links.map { ($0.source, $0.sink, width($0.source) + Self.arrow + $0.width) })
        isDownward = nodes.contains { (starts[$0] ?? 0) + width($0) > Self.widest }
        guard isDownward else {
            (runs, places) = ([], [:])
            return
        }
        let whole = Self.runs(of: nodes, links)
        let hasBranches = links.count > nodes.count - whole.count
        let choices = (1...(hasBranches ? Self.longestBranchRow : Self.longestRow)).map { length in
            let runs = whole.map { Self.rows(of: $0, length: length) }
            return (runs: runs, size: Self.size(of: runs.flatMap(\.self), links, width), length: length)
        }
        // A page is wider than it is high; where rows of several lengths are as good, the shortest.
        func extent(_ size: (width: Double, ranks: Int)) -> Double {
            max(size.width, Self.pageShape * Self.rowHeight * Double(size.ranks))
        }
        runs = choices.min { (extent($0.size), $0.length) < (extent($1.size), $1.length) }?.runs ?? []
        var places: [Int: Place] = [:]
        for (run, rows) in runs.enumerated() {
            for (number, row) in rows.enumerated() {
                for node in row {
                    places[node] = Place(run: run, row: number, isFirst: node == row.first, isLast: node == row.last)
                }
            }
        }
        self.places = places
    }

    /// `nil` in a picture that goes from left to right.
    func place(of node: Int) -> Place? { places[node] }

    /// The row that both are in, for a link along it.
    func row(joining source: Int, _ sink: Int) -> Place? {
        guard let (source, sink) = place(of: source).flatMap({ source in place(of: sink).map { (source, $0) } }),
            source.run == sink.run, source.row == sink.row
        else { return nil }
        return source
    }

    // MARK: Rows

    private static func runs(of nodes: [Int], _ links: [Link]) -> [[Int]] {
        let leaving = Dictionary(grouping: links, by: \.source)
        let entering = Dictionary(grouping: links, by: \.sink)
        func next(_ node: Int) -> Int? {
            guard let link = leaving[node]?.first, link.isRun, leaving[node]?.count == 1,
                entering[link.sink]?.count == 1
            else { return nil }
            return link.sink
        }
        let continued = Set(nodes.compactMap(next))
        var seen: Set<Int> = []
        // What is in a circle has no beginning: it begins where the text does.
        return (nodes.filter { !continued.contains($0) } + nodes).compactMap { first in
            var run: [Int] = []
            var node: Int? = first
            while let current = node, seen.insert(current).inserted {
                run.append(current)
                node = next(current)
            }
            return run.isEmpty ? nil : run
        }
    }

    /// As few rows as there can be, and these about equally long.
    private static func rows(of run: [Int], length: Int) -> [[Int]] {
        let count = (run.count + length - 1) / length
        func start(_ row: Int) -> Int { (run.count * row + count - 1) / count }
        return (0..<count).map { Array(run[start($0)..<start($0 + 1)]) }
    }

    private static func size(
        of rows: [[Int]], _ links: [Link], _ width: (Int) -> Double
    ) -> (width: Double, ranks: Int) {
        var rowOf: [Int: Int] = [:]
        for (number, row) in rows.enumerated() { for node in row { rowOf[node] = number } }
        var widths = rows.map { row in row.reduce(0) { $0 + width($1) + arrow } }
        var between: [(Int, Int, Double)] = []
        for link in links {
            guard let source = rowOf[link.source], let sink = rowOf[link.sink] else { continue }
            if source == sink {
                widths[source] += link.width > 0 ? arrow + link.width : 0
            } else {
                between.append((source, sink, 1))
            }
        }
        let ranks = longestPaths(to: Array(rows.indices), between)
        var total: [Double: Double] = [:]
        for row in rows.indices { total[ranks[row] ?? 0, default: 0] += widths[row] }
        return (total.values.max() ?? 0, total.count)
    }

    /// The length of the longest path to each. A circle is followed as often as there are nodes, at most.
    private static func longestPaths(to nodes: [Int], _ links: [(source: Int, sink: Int, length: Double)]) -> [Int:
        Double]
    {
        var lengths = Dictionary(uniqueKeysWithValues: nodes.map { ($0, 0.0) })
        for _ in nodes {
            var isDone = true
            for link in links where link.source != link.sink {
                let length = (lengths[link.source] ?? 0) + link.length
                guard length > lengths[link.sink] ?? 0 else { continue }
                lengths[link.sink] = length
                isDone = false
            }
            if isDone { break }
        }
        return lengths
    }
}
