import ArgumentParser

/// Counts allocations per frame, from callgrind's call counts.
struct AllocationsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "allocations", abstract: "Count heap allocations per frame of both sides with callgrind.")

    @Flag(help: "Fewer frames, for CI")
    var quick = false

    func run() throws {
        let report = try Self.measure(quick: quick)
        print(report.markdown)
        if !report.broken.isEmpty { throw ExitCode.failure }
    }

    /// All allocating functions of Swift's runtime.
    private static let swift = ["swift_allocObject", "swift_slowAlloc", "swift_slowAllocTyped"]
    /// All allocating functions of the C library; GLib and Swift call these too.
    private static let libc = ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign"]

    static func measure(quick: Bool) throws -> Report {
        var table = Table("Case", "malloc & co, C", "malloc & co, Swift", "Swift objects", "Retains", "Bar")
        var broken: [String] = []
        for kind in WorkCase.allCases where !kind.isHeavy {
            let work = Work(kind: kind, frames: quick ? 200 : 1000)
            let c = try FrameCost(work, .c)
            let swift = try FrameCost(work, .swift)
            let sum = { (cost: FrameCost, functions: [String]) in
                functions.reduce(0) { $0 + cost.calls(of: $1) }
            }
            let objects = sum(swift, Self.swift)
            table.add(
                "\(kind)", sum(c, libc).text(2), sum(swift, libc).text(2), objects.text(2),
                swift.calls(of: "swift_retain").text(1), "no Swift object")
            // The run's own tasks and threads may allocate once more or less, which is below a hundredth per frame.
            if objects >= 0.01 { broken.append("\(kind): \(objects.text(2)) Swift allocations per frame") }
        }
        return Report(title: "Heap allocations per frame", text: table.description, broken: broken)
    }
}
