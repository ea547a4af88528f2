import ArgumentParser
import MediaGraph

/// What it costs to read a user, by how many readers there are, and to be many who all read each other.
struct RoomCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "room", abstract: "Measure rooms of one process: processor time, lateness, drops and memory.")

    @Flag(help: "Two seconds and few users, for CI")
    var quick = false

    @Option(help: "Seconds for each line")
    var seconds = 10.0

    func run() throws {
        for report in [try Self.readers(quick: quick, seconds), try Self.allToAll(quick: quick, seconds)] {
            print(report.markdown)
        }
    }

    private static func readers(quick: Bool, _ seconds: Double) throws -> Report {
        var table = Self.table
        for resolution in [Resolution.native, .p180] {
            for readers in quick ? [1, 10] : [1, 10, 50, 100] {
                try add(
                    "1 → \(readers), \(resolution.nick)", to: &table,
                    RoomWork(
                        senders: 1, readers: readers, size: "video/x-raw,width=1280,height=720",
                        resolution: resolution, seconds: quick ? 2 : seconds))
            }
        }
        return Report(
            title: "One sender of 1280×720, 30 frames/s, and many pipes", text: table.description, hasBars: false)
    }

    private static func allToAll(quick: Bool, _ seconds: Double) throws -> Report {
        var table = Self.table
        for users in quick ? [2, 5] : [2, 5, 10, 20] {
            try add(
                "\(users), all to all", to: &table,
                RoomWork(
                    senders: users, readers: 0, size: "video/x-raw,width=320,height=180", resolution: .native,
                    seconds: quick ? 2 : seconds))
        }
        return Report(
            title: "Users of 320×180, 30 frames/s, who read each other", text: table.description, hasBars: false)
    }

    /// Of the lateness 33.3 ms are the source's, which says so as its latency.
    private static var table: Table {
        Table("Users", "Frames", "µs of processor a frame", "p50, ms", "p99, ms", "Dropped", "Memory, MiB")
    }

    private static func add(_ title: String, to table: inout Table, _ work: RoomWork) throws {
        let outcome = try work.run()
        let lateness = Percentiles(outcome.lateness)
        let cost = Double(outcome.processorTime) / 1000 / Double(max(1, lateness.count))
        table.add(
            title, "\(lateness.count)", cost.text(1), lateness.milliseconds(50).text(2),
            lateness.milliseconds(99).text(2), "\(outcome.dropped)",
            "\(outcome.memory.before.text(1)) → \(outcome.memory.after.text(1))")
    }
}
