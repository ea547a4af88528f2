import Foundation
import TestSupport
import Testing

/// A picture as Graphviz lays it out. Positions are in points, with y upwards.
struct DrawnPicture {
    struct Box {
        var left, bottom, right, top: Double

        func overlaps(_ other: Box) -> Bool {
            left < other.right && other.left < right && bottom < other.top && other.bottom < top
        }

        func holds(_ other: Box) -> Bool {
            left <= other.left && other.right <= right && bottom <= other.bottom && other.top <= top
        }

        func holds(_ point: (x: Double, y: Double)) -> Bool {
            left < point.x && point.x < right && bottom < point.y && point.y < top
        }

        var middle: (x: Double, y: Double) { ((left + right) / 2, (bottom + top) / 2) }
    }

    struct Text {
        var text: String
        var box: Box
        /// The node, cluster or edge that it belongs to.
        var owner: String
    }

    /// The picture without its margin.
    let page: Box
    /// Nodes by their names in dot: `n0` is the description's first element.
    private(set) var nodes: [String: Box] = [:]
    private(set) var clusters: [String: Box] = [:]
    private(set) var texts: [Text] = []
    /// Points along each link, from its tail to its head.
    private(set) var links: [(tail: String, head: String, points: [(x: Double, y: Double)])] = []
    let dot: String

    /// Draws the output of `mediagraph graph` for these arguments.
    init(_ words: String...) throws {
        let graph = try ChildProcess.run(Program.path, ["graph"] + words, environment: Program.environment)
        #expect(graph.status == 0, "\(graph.errors)")
        dot = graph.output
        let folder = TemporaryFolder()
        // MALLOC_PERTURB_ overwrites freed memory. With `pack`, Graphviz 2.43 reads freed memory, and sometimes
        // crashes.
        let drawn = try ChildProcess.run(
            "dot", ["-Tjson", folder.write(dot, to: "a.dot")], environment: ["MALLOC_PERTURB_": "165"])
        #expect(drawn.status == 0 && drawn.errors == "", "\(drawn.errors)")
        let json = try JSONSerialization.jsonObject(with: Data(drawn.output.utf8)) as? [String: Any] ?? [:]
        page = Self.box(json["bb"]) ?? Box(left: 0, bottom: 0, right: 0, top: 0)
        let objects = json["objects"] as? [[String: Any]] ?? []
        for object in [json] + objects {
            let name = object["name"] as? String ?? ""
            texts += Self.texts(object, owner: name)
            if name.hasPrefix("cluster") { clusters[name] = Self.box(object["bb"]) }
            guard let center = Self.numbers(object["pos"]), center.count == 2 else { continue }
            let half = [object["width"], object["height"]].map { (Double($0 as? String ?? "") ?? 0) * 36 }
            nodes[name] = Box(
                left: center[0] - half[0], bottom: center[1] - half[1], right: center[0] + half[0],
                top: center[1] + half[1])
        }
        for edge in json["edges"] as? [[String: Any]] ?? [] {
            let ends = [edge["tail"], edge["head"]].map { objects[$0 as? Int ?? 0]["name"] as? String ?? "" }
            let curves = (edge["_draw_"] as? [[String: Any]] ?? []).compactMap { $0["points"] as? [[Double]] }
            links.append((ends[0], ends[1], curves.flatMap(Self.along)))
            texts += Self.texts(edge, owner: ends.joined(separator: "->"))
        }
    }

    // MARK: Content

    func text(_ text: String, of owner: String) -> Text? { texts.first { $0.text == text && $0.owner == owner } }

    func lines(of owner: String) -> [String] { texts.filter { $0.owner == owner }.map(\.text) }

    /// The texts that can't be read, because something overlaps them or because they are outside the page.
    var unreadable: [String] {
        var found: [String] = []
        for (index, text) in texts.enumerated() {
            if !page.holds(text.box) { found.append("\"\(text.text)\" is outside") }
            for other in texts[..<index] where text.box.overlaps(other.box) {
                found.append("\"\(text.text)\" lies on \"\(other.text)\"")
            }
            for link in links where link.points.contains(where: text.box.holds) {
                found.append("\(link.tail)->\(link.head) crosses \"\(text.text)\"")
            }
            for (name, box) in nodes where name != text.owner && box.overlaps(text.box) {
                found.append("\"\(text.text)\" lies on \(name)")
            }
        }
        return found
    }

    // MARK: Graphviz's JSON

    private static func numbers(_ value: Any?) -> [Double]? {
        (value as? String)?.split(separator: ",").compactMap { Double($0) }
    }

    private static func box(_ value: Any?) -> Box? {
        guard let numbers = numbers(value), numbers.count == 4 else { return nil }
        return Box(left: numbers[0], bottom: numbers[1], right: numbers[2], top: numbers[3])
    }

    private static func texts(_ object: [String: Any], owner: String) -> [Text] {
        ["_ldraw_", "_tldraw_", "_hldraw_"].flatMap { key -> [Text] in
            var size = 0.0
            var texts: [Text] = []
            for operation in object[key] as? [[String: Any]] ?? [] {
                if let given = operation["size"] as? Double { size = given }
                let text = (operation["text"] as? String ?? "").trimmingCharacters(in: .whitespaces)
                guard !text.isEmpty, let point = operation["pt"] as? [Double], let width = operation["width"] as? Double
                else { continue }
                let align = operation["align"] as? String
                let left = point[0] - (align == "l" ? 0 : align == "r" ? width : width / 2)
                // Measured from the baseline, so that adjacent lines touch but don't overlap.
                let box = Box(
                    left: left + 0.5, bottom: point[1] - size * 0.2, right: left + width - 0.5,
                    top: point[1] + size * 0.7)
                texts.append(Text(text: text, box: box, owner: owner))
            }
            return texts
        }
    }

    /// Returns points along consecutive Bézier curves.
    private static func along(_ points: [[Double]]) -> [(x: Double, y: Double)] {
        guard points.count >= 4, points.count % 3 == 1 else { return [] }
        return stride(from: 0, to: points.count - 1, by: 3).flatMap { start in
            (0...24).map { step -> (x: Double, y: Double) in
                let t = Double(step) / 24
                let weights = [(1 - t) * (1 - t) * (1 - t), 3 * (1 - t) * (1 - t) * t, 3 * (1 - t) * t * t, t * t * t]
                func value(_ axis: Int) -> Double {
                    zip(weights, points[start...]).reduce(0) { $0 + $1.0 * $1.1[axis] }
                }
                return (value(0), value(1))
            }
        }
    }
}
