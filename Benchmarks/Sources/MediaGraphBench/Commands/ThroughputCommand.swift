import ArgumentParser

/// Measures frames per second and CPU time per frame in interleaved pairs.
struct ThroughputCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "throughput", abstract: "Compare frames/s and CPU time per frame in 20 interleaved pairs.")

    @Flag(help: "Shorter runs, for CI")
    var quick = false

    func run() throws { print(try Self.measure(quick: quick).markdown) }

    private static let pairs = 20

    static func measure(quick: Bool) throws -> Report {
        var table = Table(
            "Case", "C, frames/s", "Swift, frames/s", "C, µs CPU", "Swift, µs CPU", "CPU ratio", "C against itself")
        for kind in WorkCase.allCases where !kind.isUntimed {
            for touch in kind.touches {
                let frames = (touch == .luma || kind.isHeavy ? 1000 : 20000) / (quick ? 5 : 1)
                let work = Work(kind: kind, touch: touch, frames: frames)
                let runs = try (0..<pairs).map { _ in
                    try (c: run(work, .c), swift: run(work, .swift), again: run(work, .c))
                }
                let median = { (values: [Double]) in PairedMedian(values).median }
                table.add(
                    work.title,
                    median(runs.map(\.c.framesPerSecond)).text(0), median(runs.map(\.swift.framesPerSecond)).text(0),
                    median(runs.map { $0.c.cpuPerFrame * 1e6 }).text(2),
                    median(runs.map { $0.swift.cpuPerFrame * 1e6 }).text(2),
                    PairedMedian(runs.map { $0.swift.cpuPerFrame / $0.c.cpuPerFrame }).text(2),
                    PairedMedian(runs.map { $0.again.cpuPerFrame / $0.c.cpuPerFrame }).text(2))
            }
        }
        return Report(
            title: "Throughput",
            text: "\(table)\n\nMedians of \(pairs) interleaved pairs; the brackets contain the median's 95 % interval.",
            hasBars: false)
    }

    private static func run(_ work: Work, _ side: Side) throws -> Measured { try waiting { try await work.run(side) } }
}
