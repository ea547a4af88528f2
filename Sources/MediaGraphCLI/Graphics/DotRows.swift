/// Arranges a drawing within the width of a page: from left to right, or, if that would be too wide, downwards in rows.
///
/// A run is a part of the graph without branches. Its rows alternate in direction, so that each row begins below the
/// end of the previous one.
struct DotRows {
    /// A link between elements that are drawn as boxes.
    struct Link {
        var source: Int
        var sink: Int
        /// The width of the label in points.
        var width: Double
        /// Whether both elements may be in the same run.
        var isRun: Bool
    }

    /// The position of an element.
    struct Position: Equatable {
        var run: Int
        var row: Int
        var isFirst: Bool
        var isLast: Bool

        /// Whether the row goes from right to left, as every other row does.
        var isBackward: Bool { !row.isMultiple(of: 2) }
    }

    /// The maximum width in points of the longest path in a drawing from left to right. The drawing becomes somewhat
    /// wider than the path, because a rank is as wide as its widest box.
    private static let widest = 950.0
    /// The length of an arrow and the height of a row, in points.
    private static let (arrow, rowHeight) = (40.0, 85.0)
    /// The width of a page divided by its height.
    private static let pageShape = 1.8
    /// The maximum number of elements in a row: in a graph without branches, and in one with branches.
    private static let (longestRow, longestBranchRow) = (8, 3)

    /// Whether the drawing goes downwards in rows.
    let isDownward: Bool
    /// The rows of each run; empty if the drawing goes from left to right.
    let runs: [[[Int]]]
    private let positions: [Int: Position]

    /// Arranges boxes. The keys of `widths` are the elements' indices, its values the widths of their boxes in points.
    init(widths: [Int: Double], links: [Link]) {
        let nodes = widths.keys.sorted()
        func width(_ node: Int) -> Double { widths[node] ?? 0 }
        let starts = Self.longestPaths(
            to: nodes, links.map { ($0.source, $0.sink, width($0.source) + Self.arrow + $0.width) })
        isDownward = nodes.contains { (starts[$0] ?? 0) + width($0) > Self.widest }
        guard isDownward else {
            (runs, positions) = ([], [:])
            return
        }
        let whole = Self.runs(of: nodes, links)
        let hasBranches = links.count > nodes.count - whole.count
        let choices = (1...(hasBranches ? Self.longestBranchRow : Self.longestRow)).map { length in
            let runs = whole.map { Self.rows(of: $0, length: length) }
            return (runs: runs, size: Self.size(of: runs.flatMap(\.self), links, width), length: length)
        }
        // Chooses the row length that fits a page best. If several fit equally well, chooses the shortest.
        func extent(_ size: (width: Double, ranks: Int)) -> Double {
            max(size.width, Self.pageShape * Self.rowHeight * Double(size.ranks))
        }
        runs = choices.min { (extent($0.size), $0.length) < (extent($1.size), $1.length) }?.runs ?? []
        var positions: [Int: Position] = [:]
        for (run, rows) in runs.enumerated() {
            for (number, row) in rows.enumerated() {
                for node in row {
                    positions[node] = Position(
                        run: run, row: number, isFirst: node == row.first, isLast: node == row.last)
                }
            }
        }
        self.positions = positions
    }

    /// Returns the position of an element; `nil` if the drawing goes from left to right.
    func position(of node: Int) -> Position? { positions[node] }

    /// Returns the position of `source` if both elements are in the same row; otherwise `nil`.
    func row(joining source: Int, _ sink: Int) -> Position? {
        guard let (source, sink) = position(of: source).flatMap({ source in position(of: sink).map { (source, $0) } }),
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
        // A cycle has no first element, so it begins with the one that comes first in the description.
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

    /// Splits a run into as few rows of at most `length` elements as possible, of about equal length.
    private static func rows(of run: [Int], length: Int) -> [[Int]] {
        let count = (run.count + length - 1) / length
        func start(_ row: Int) -> Int { (run.count * row + count - 1) / count }
        return (0..<count).map { Array(run[start($0)..<start($0 + 1)]) }
    }

    /// Returns the width in points, and the height in ranks, of a drawing with these rows.
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

    /// Returns the length of the longest path to each node. A cycle is followed at most as often as there are nodes.
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
