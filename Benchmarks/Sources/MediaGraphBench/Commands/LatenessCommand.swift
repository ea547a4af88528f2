import ArgumentParser

/// Measures how late frames are delivered, and how late tasks wake, while several live graphs run.
struct LatenessCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lateness",
        abstract: "Compare the lateness of deliveries in live graphs, and of tasks that run at the same time.")

    @Flag(help: "8 graphs only and fewer frames, for CI: no verdict")
    var quick = false

    func run() throws {
        for report in [try Self.measureLateness(quick: quick), try Self.measureHeartbeats(quick: quick)] {
            print(report.markdown)
            if !report.broken.isEmpty, !quick { throw ExitCode.failure }
        }
    }

    /// The number of frames of each side that a p99 needs.
    private static let frames = 10_000
    private static let pairs = 20
    private static let bar = 2.0

    static func measureLateness(quick: Bool) throws -> Report {
        var table = Table(
            "Graphs", "Frames", "C p50", "Swift p50", "C p99", "Swift p99", "p99, Swift − C", "C against itself", "Bar")
        var broken: [String] = []
        let pairs = quick ? 5 : pairs
        for graphs in quick ? [8] : [1, 2, 4, 8] {
            let perGraph = quick ? 30 : (frames + pairs * graphs - 1) / (pairs * graphs)
            let isBarred = graphs == 8
            var (c, swift): ([Int64], [Int64]) = ([], [])
            var (differences, same): ([Double], [Double]) = ([], [])
            for _ in 0..<pairs {
                let first = try lateness(.c, graphs, perGraph)
                let second = try lateness(.borrowed, graphs, perGraph)
                differences.append(p99(second) - p99(first))
                if isBarred { same.append(p99(try lateness(.c, graphs, perGraph)) - p99(first)) }
                c += first
                swift += second
            }
            let difference = PairedMedian(differences)
            let (all, ours) = (Percentiles(c), Percentiles(swift))
            table.add(
                "\(graphs)", "\(all.count)", all.milliseconds(50).text(2), ours.milliseconds(50).text(2),
                all.milliseconds(99).text(2), ours.milliseconds(99).text(2), difference.text(2),
                isBarred ? PairedMedian(same).text(2) : "", isBarred ? "≤ \(bar.text(0)) ms" : "")
            if isBarred, difference.low > bar {
                broken.append("p99 at \(graphs) graphs: \(difference.text(2)) ms later than C")
            }
        }
        return Report(title: "Delivery lateness, milliseconds", text: table.description, broken: broken)
    }

    static func measureHeartbeats(quick: Bool) throws -> Report {
        let cases: [(String, LiveWork.Receiver, Int)] = [
            ("8 live graphs, C callbacks", .c, 8), ("8 live graphs, borrowed frames", .borrowed, 8),
            ("8 live graphs, `frames` read by tasks", .sequence, 8), ("64 idle `frames` open", .idleSequence, 64),
        ]
        var table = Table("While running", "Beats", "p50", "p99", "p99 minus p99 without graphs")
        var broken: [String] = []
        let pairs = quick ? 5 : pairs
        var beats = [[Int64]](repeating: [], count: cases.count + 1)
        var differences = [[Double]](repeating: [], count: cases.count + 1)
        for _ in 0..<pairs {
            let alone = try heartbeats(.none, 0)
            beats[0] += alone
            differences[0].append(p99(try heartbeats(.none, 0)) - p99(alone))
            for (index, (_, receiver, graphs)) in cases.enumerated() {
                let values = try heartbeats(receiver, graphs)
                beats[index + 1] += values
                differences[index + 1].append(p99(values) - p99(alone))
            }
        }
        for (index, title) in (["nothing, against itself"] + cases.map(\.0)).enumerated() {
            let all = Percentiles(beats[index])
            let difference = PairedMedian(differences[index])
            table.add(
                title, "\(all.count)", all.milliseconds(50).text(2), all.milliseconds(99).text(2), difference.text(2))
            if index > 1, difference.low > bar { broken.append("\(title): heartbeats \(difference.text(2)) ms later") }
        }
        return Report(
            title: "Task heartbeats, milliseconds late",
            text: "\(table)\n\nFour tasks wake every 5 ms. Bar: at most \(bar.text(0)) ms later than without graphs.",
            broken: broken)
    }

    private static func lateness(_ receiver: LiveWork.Receiver, _ graphs: Int, _ frames: Int) throws -> [Int64] {
        try LiveWork(receiver: receiver, graphs: graphs, framesPerGraph: frames).run().lateness
    }

    private static func heartbeats(_ receiver: LiveWork.Receiver, _ graphs: Int) throws -> [Int64] {
        try LiveWork(receiver: receiver, graphs: graphs, framesPerGraph: 30).run().heartbeats
    }

    private static func p99(_ values: [Int64]) -> Double { Percentiles(values).milliseconds(99) }
}
