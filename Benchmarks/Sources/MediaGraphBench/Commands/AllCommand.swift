import ArgumentParser
import Foundation

/// Runs every comparison except `room`, and writes the results into the README.
struct AllCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "all", abstract: "Run every comparison and write the results into a README.")

    @Flag(help: "Short runs")
    var quick = false

    @Option(help: "The file whose text after the line \"\(Self.marker)\" is replaced")
    var readme = "README.md"

    private static let marker = "<!-- results -->"

    func run() throws {
        let measurements: [(Bool) throws -> Report] = [
            { try InstructionsCommand.measure(quick: $0) }, { try AllocationsCommand.measure(quick: $0) },
            { try ThroughputCommand.measure(quick: $0) }, { try LatenessCommand.measureLateness(quick: $0) },
            { try LatenessCommand.measureHeartbeats(quick: $0) }, { try AudioCommand.measureInstructions(quick: $0) },
            { try AudioCommand.measureLatency(quick: $0) },
        ]
        var reports: [Report] = []
        for measure in measurements {
            reports.append(try measure(quick))
            print(reports.last!.markdown)
            // Written after each comparison, so that the results remain if a later one fails.
            try write(reports)
        }
        if reports.contains(where: { !$0.broken.isEmpty }) { throw ExitCode.failure }
    }

    private func write(_ reports: [Report]) throws {
        let text = try String(contentsOfFile: readme, encoding: .utf8)
        guard let marker = text.range(of: Self.marker) else { throw BenchError("\(readme) has no line \(Self.marker)") }
        let command = "mediagraph-bench all\(quick ? " --quick" : "")"
        let header = "\(Date.now.formatted(.iso8601.year().month().day())), `\(command)`, on \(Machine.description)."
        let results = ([header] + reports.map(\.markdown)).joined(separator: "\n\n")
        try (text[..<marker.upperBound] + "\n" + results).write(toFile: readme, atomically: true, encoding: .utf8)
    }
}
