import ArgumentParser

/// Counts instructions per frame with callgrind.
struct InstructionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "instructions", abstract: "Count instructions per frame of both sides with callgrind.")

    @Flag(help: "Fewer frames, for CI")
    var quick = false

    @Option(name: .customLong("case"), help: "Only this case")
    var kinds: [WorkCase] = WorkCase.allCases

    @Option(name: .customLong("touch"), help: "Only this touch")
    var touches: [Touch] = Touch.allCases

    func run() throws {
        let report = try Self.measure(kinds, touches, quick: quick)
        print(report.markdown)
        if !report.broken.isEmpty { throw ExitCode.failure }
    }

    static func measure(
        _ kinds: [WorkCase] = WorkCase.allCases, _ touches: [Touch] = Touch.allCases, quick: Bool
    ) throws -> Report {
        var table = Table("Case", "C", "Swift", "Swift − C", "Ratio", "Bar")
        var broken: [String] = []
        for kind in kinds {
            for touch in touches where kind.touches.contains(touch) {
                let frames = touch == .luma || kind.isHeavy ? 50 : quick ? 2000 : 5000
                let work = Work(kind: kind, touch: touch, frames: frames)
                let c = try FrameCost(work, .c).instructions
                let swift = try FrameCost(work, .swift).instructions
                let ratio = swift / c
                table.add(
                    work.title, c.text(0), swift.text(0), (swift - c).text(0), ratio.text(3), "≤ \(kind.bar.text(2))")
                if ratio > kind.bar { broken.append("\(work.title): \(ratio.text(3)) times the instructions of C") }
            }
        }
        return Report(title: "Instructions per frame", text: table.description, broken: broken)
    }
}
