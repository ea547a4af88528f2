import ArgumentParser

/// Measures the instructions for a second of sound, with callgrind, and the latency of a block.
struct AudioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audio",
        abstract: "Compare users' sound with stock elements and C: instructions, and latency against C.")

    @Flag(help: "Shorter runs, for CI: no verdict on latency")
    var quick = false

    func run() throws {
        let instructions = try Self.measureInstructions(quick: quick)
        print(instructions.markdown)
        let latency = try Self.measureLatency(quick: quick)
        print(latency.markdown)
        // A quick run has too few blocks for a verdict on the p99.
        if !instructions.broken.isEmpty || !latency.broken.isEmpty && !quick { throw ExitCode.failure }
    }

    private static let users = [1, 10, 50]
    private static let blocksPerSecond = 100.0
    private static let bar = 1.10

    static func measureInstructions(quick: Bool) throws -> Report {
        var table = Table(
            "Users", "Stock", "Stock, exact", "C", "MediaGraph", "MediaGraph / stock", "MediaGraph / C",
            "Bar, MediaGraph / stock")
        var broken: [String] = []
        for users in users {
            let cost = { (side: AudioWork.Side) in
                try FrameCost(frames: quick ? 50 : 200) { blocks in
                    ["audio-work", "--users", "\(users)", "--side", side.rawValue, "--blocks", "\(blocks)"]
                }.instructions * blocksPerSecond / 1e6
            }
            let (stock, exact, c, swift) = (try cost(.stock), try cost(.exact), try cost(.c), try cost(.swift))
            table.add(
                "\(users)", stock.text(2), exact.text(2), c.text(2), swift.text(2), (swift / stock).text(3),
                (swift / c).text(3), "≤ \(bar.text(2))")
            if swift / stock > bar {
                broken.append("\(users) users: \((swift / stock).text(3)) times the instructions of stock elements")
            }
        }
        return Report(
            title: "Instructions for a second of users' sound, millions", text: table.description, broken: broken)
    }

    /// How many blocks of each side a p99 needs.
    private static let blocks = 10_000
    private static let pairs = 20
    /// The most latency that may be added, in milliseconds: the length of one block.
    private static let latencyBar = 10.0

    static func measureLatency(quick: Bool) throws -> Report {
        var table = Table(
            "Users", "jitter", "Blocks", "C p50", "MediaGraph p50", "C p99", "MediaGraph p99", "added p99",
            "C against itself", "Bar")
        var broken: [String] = []
        let pairs = quick ? 5 : pairs
        for users in quick ? [10] : users {
            for jitter in [0, 60] {
                let work = SpeechWork(users: users, blocks: quick ? 50 : max(50, blocks / pairs / users))
                var (c, swift): ([Int64], [Int64]) = ([], [])
                var (added, same): ([Double], [Double]) = ([], [])
                for _ in 0..<pairs {
                    let first = try work.run(.c)
                    let second = try work.run(.swift(jitter: .milliseconds(jitter)))
                    added.append(p99(second) - p99(first))
                    same.append(p99(try work.run(.c)) - p99(first))
                    c += first
                    swift += second
                }
                let (plain, ours, difference) = (Percentiles(c), Percentiles(swift), PairedMedian(added))
                table.add(
                    "\(users)", "\(jitter) ms", "\(ours.count)", plain.milliseconds(50).text(2),
                    ours.milliseconds(50).text(2), plain.milliseconds(99).text(2), ours.milliseconds(99).text(2),
                    difference.text(2), PairedMedian(same).text(2), "≤ \(latencyBar.text(0)) ms")
                if difference.low > latencyBar {
                    broken.append("\(users) users, jitter \(jitter) ms: \(difference.text(2)) ms added")
                }
            }
        }
        return Report(
            title: "From a microphone's send to the one-way callback, milliseconds", text: table.description,
            broken: broken)
    }

    private static func p99(_ values: [Int64]) -> Double { Percentiles(values).milliseconds(99) }
}

/// Runs one side of the users' sound, alone in its process, for callgrind.
struct AudioWorkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audio-work", abstract: "Run one side of the mix of several users' sound.")

    @Option(help: "Number of users who speak")
    var users = 1

    @Option(help: "Side to run: \(AudioWork.Side.allCases.map(\.rawValue).joined(separator: ", "))")
    var side: AudioWork.Side

    @Option(help: "Blocks of 10 ms to run")
    var blocks = 500

    func run() throws {
        let (work, side) = (AudioWork(users: users, blocks: blocks), side)
        try waiting { try await work.run(side) }
    }
}
