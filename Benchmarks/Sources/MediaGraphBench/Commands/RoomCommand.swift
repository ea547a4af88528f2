import ArgumentParser
import MediaGraph

/// Measures the cost of rooms: one user with many readers, and many users who all read each other.
struct RoomCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "room",
        abstract: "Measure rooms in one process: instructions with callgrind; lateness, drops and memory of live rooms."
    )

    @Flag(help: "Two seconds and few users, for CI: no verdict on lateness")
    var quick = false

    @Option(help: "Seconds for each row of the live rooms")
    var seconds = 10.0

    func run() throws {
        let instructions = try Self.measureInstructions(quick: quick)
        print(instructions.markdown)
        let live = try Self.measureLive(quick: quick, seconds)
        print(live.markdown)
        let overload = try Self.measureOverload(quick: quick, seconds)
        print(overload.markdown)
        let waiting = try Self.measureWaiting(quick: quick, seconds)
        print(waiting.markdown)
        // Two seconds on a busy machine are too short for a verdict on lateness.
        if !instructions.broken.isEmpty || !quick && !(live.broken + overload.broken + waiting.broken).isEmpty {
            throw ExitCode.failure
        }
    }

    // MARK: Instructions

    /// How many times as much an additional frame may cost in the next larger room.
    private static let linearityBar = 1.15

    static func measureInstructions(quick: Bool) throws -> Report {
        var table = Table("Users", "Frames read a round", "Instructions a round", "Of an additional frame", "Bar")
        var broken: [String] = []
        for resolution in [Resolution.native, .p180] {
            try measure(
                (quick ? [1, 10, 20] : [1, 10, 50, 100]).map { Population(senders: 1, readers: $0) }, resolution,
                quick: quick, &table, &broken)
        }
        try measure(
            (quick ? [2, 5, 8] : [2, 5, 10, 20]).map { Population(senders: $0, readers: 0) }, .native, quick: quick,
            &table, &broken)
        return Report(
            title: "Instructions of a room, by the number of frames that are read", text: table.description,
            broken: broken)
    }

    private struct Population {
        var senders: Int
        var readers: Int

        var title: String { senders == 1 ? "1 → \(readers)" : "\(senders), all to all" }
        /// The number of readers of each sender's frame.
        var readersPerSender: Int { senders == 1 ? readers : senders - 1 }
    }

    /// Measures rooms of growing size. Each frame that is read should cost the same in all of them.
    private static func measure(
        _ populations: [Population], _ resolution: Resolution, quick: Bool, _ table: inout Table,
        _ broken: inout [String]
    ) throws {
        var first: (read: Int, cost: Double)?
        var last: Double?
        for population in populations {
            let cost = try FrameCost(frames: quick ? 20 : 50, attempts: quick ? 1 : 2) { rounds in
                [
                    "room-work", "--senders", "\(population.senders)", "--readers", "\(population.readers)",
                    "--resolution", resolution.text, "--rounds", "\(rounds)",
                ]
            }.instructions
            let costPerSender = cost / Double(population.senders)
            // The cost of each frame in addition to those of the smallest room.
            let additional = first.map {
                (costPerSender - $0.cost) / Double(population.readersPerSender - $0.read)
            }
            let growth = additional.flatMap { additional in last.map { additional / $0 } }
            table.add(
                "\(population.title), \(resolution.text)", "\(population.readersPerSender * population.senders)",
                cost.text(0), additional?.text(0) ?? "",
                growth.map { "\($0.text(3)) ≤ \(linearityBar.text(2))" } ?? "")
            if let growth, growth > linearityBar {
                broken.append(
                    "\(population.title), \(resolution.text): an additional frame costs \(growth.text(3)) times as much as "
                        + "in the room before")
            }
            first = first ?? (population.readersPerSender, costPerSender)
            last = additional
        }
    }

    // MARK: Live

    /// The interval of frames at 30 frames/s in milliseconds. Unless the cores are full, no frame may be later.
    private static let frameInterval = 1000.0 / 30
    /// The share of all cores' time from which on the cores count as full.
    private static let fullLoad = 0.9

    static func measureLive(quick: Bool, _ seconds: Double) throws -> Report {
        var table = Table(
            "Users", "Frames", "Load of all cores", "µs of processor a frame", "p50, ms", "p99, ms", "Dropped",
            "Memory, MiB", "Bar, p99")
        var broken: [String] = []
        var rooms: [(String, RoomWork)] = []
        for resolution in [Resolution.native, .p180] {
            rooms += (quick ? [1, 10] : [1, 10, 50, 100]).map {
                ("1 → \($0), \(resolution.text)", work(readers: $0, resolution: resolution, quick ? 2 : seconds))
            }
        }
        rooms += (quick ? [2, 5] : [2, 5, 10, 20]).map { ("\($0), all to all", work(users: $0, quick ? 2 : seconds)) }
        for (title, work) in rooms {
            let outcome = try work.run()
            let lateness = Percentiles(outcome.lateness)
            let latest = lateness.milliseconds(99)
            let isJudged = outcome.load < fullLoad
            table.add(
                title, "\(lateness.count)", "\((outcome.load * 100).text(0)) %",
                (Double(outcome.processorTime) / 1000 / Double(max(1, lateness.count))).text(1),
                lateness.milliseconds(50).text(2), latest.text(2), "\(outcome.dropped)",
                "\(outcome.memory.before.text(1)) → \(outcome.memory.after.text(1))",
                isJudged ? "< \(frameInterval.text(1)) ms" : "cores are full")
            if isJudged, latest >= frameInterval { broken.append("\(title): p99 is \(latest.text(2)) ms") }
        }
        return Report(
            title: "Live rooms: readers of one user's 1280×720, and users of 320×180 who all read each other",
            text: table.description, broken: broken)
    }

    private static func work(readers: Int, resolution: Resolution, _ seconds: Double) -> RoomWork {
        RoomWork(
            senders: 1, readers: readers, width: 1280, height: 720, resolution: resolution, seconds: seconds)
    }

    private static func work(users: Int, _ seconds: Double) -> RoomWork {
        RoomWork(
            senders: users, readers: 0, width: 320, height: 180, resolution: .native, seconds: seconds)
    }

    // MARK: More than the cores can do

    /// Measures readers that each convert frames for themselves, more than the cores can serve: frames must be dropped,
    /// and the delivered frames must not be later at the end than at the beginning.
    static func measureOverload(quick: Bool, _ seconds: Double) throws -> Report {
        var table = Table(
            "Readers that convert", "Frames", "Load of all cores", "Dropped", "p50 of the first half, ms",
            "p50 of the second half, ms", "Bar, growth")
        var broken: [String] = []
        for readers in quick ? [40] : [50, 100] {
            var work = work(readers: readers, resolution: .native, quick ? 4 : seconds)
            work.format = "BGRA"
            let outcome = try work.run()
            let (first, second) = (Percentiles(outcome.firstHalf), Percentiles(outcome.secondHalf))
            let growth = second.milliseconds(50) - first.milliseconds(50)
            table.add(
                "\(readers)", "\(outcome.lateness.count)", "\((outcome.load * 100).text(0)) %", "\(outcome.dropped)",
                first.milliseconds(50).text(2), second.milliseconds(50).text(2), "< \(frameInterval.text(1)) ms")
            if growth >= frameInterval {
                broken.append("\(readers) readers: frames are \(growth.text(2)) ms later in the second half")
            }
            if outcome.load > fullLoad, outcome.dropped == 0 {
                broken.append("\(readers) readers: no frame was dropped")
            }
        }
        return Report(title: "More readers than the cores can serve", text: table.description, broken: broken)
    }

    // MARK: Frames that wait for the graph's latency

    /// Measures a reader whose graph has a branch with a long latency. The reader must get every frame.
    static func measureWaiting(quick: Bool, _ seconds: Double) throws -> Report {
        var table = Table("Latency, ms", "Frames a second", "Dropped", "p50, ms", "p99, ms", "Memory, MiB", "Bar")
        var broken: [String] = []
        for latency in quick ? [200, 1000] : [0, 50, 100, 200, 500, 1000, 3000] as [UInt64] {
            let length = quick ? 2 : seconds
            var work = work(readers: 1, resolution: .native, length)
            work.latency = latency
            let outcome = try work.run()
            let lateness = Percentiles(outcome.lateness)
            let rate = Double(lateness.count) / length
            table.add(
                "\(latency)", rate.text(1), "\(outcome.dropped)", lateness.milliseconds(50).text(1),
                lateness.milliseconds(99).text(1),
                "\(outcome.memory.before.text(1)) → \(outcome.memory.after.text(1))", "none dropped")
            if outcome.dropped > 0 { broken.append("\(latency) ms of latency: \(outcome.dropped) frames were dropped") }
        }
        return Report(
            title: "A user of 1280×720 read in a graph with this latency", text: table.description, broken: broken)
    }
}

/// Runs rounds of a room, alone in its process, for callgrind.
struct RoomWorkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "room-work", abstract: "Run rounds of a room with this many senders and readers.")

    @Option(help: "Number of senders; if there are several, each reads all others")
    var senders = 1

    @Option(help: "Number of users who only read")
    var readers = 0

    @Option(help: "native, or the resolution that pipes request, such as 180p")
    var resolution = Resolution.native.text

    @Option(help: "Number of frames that each sender sends")
    var rounds = 100

    func run() throws {
        guard let resolution = Resolution(text: resolution) else {
            throw ValidationError("\"\(resolution)\" isn't a resolution; use native, or a number of lines such as 180p")
        }
        // As in the live rooms: a single sender sends 1280×720, several senders send 320×180.
        let (width, height) = senders == 1 ? (1280, 720) : (320, 180)
        try RoomRounds(
            senders: senders, readers: readers, width: width, height: height, resolution: resolution, rounds: rounds
        ).run()
    }
}
