import ArgumentParser

/// Runs one side of one case, alone in its process, for callgrind.
struct WorkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "work", abstract: "Run one side of one case.")

    @Option(name: .customLong("case"), help: "\(WorkCase.allCases.map(\.rawValue).joined(separator: ", "))")
    var kind: WorkCase

    @Option(help: "c or swift")
    var side: Side

    @Option(help: "planes (the first byte of each) or luma (every byte)")
    var touch = Touch.planes

    @Option(help: "Frames to run")
    var frames = 1000

    func run() throws {
        let (work, side) = (Work(kind: kind, touch: touch, frames: frames), side)
        let result = try waiting { try await work.run(side) }
        print("\(frames) frames, \(Int(result.framesPerSecond)) frames/s, \(result.cpuPerFrame * 1e6) µs CPU per frame")
    }
}
