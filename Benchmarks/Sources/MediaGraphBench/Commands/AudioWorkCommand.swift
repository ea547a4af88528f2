import ArgumentParser

/// One side of the users' sound, alone in its process: what callgrind runs.
struct AudioWorkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audio-work", abstract: "Run one side of the mix of so many users.")

    @Option(help: "How many speak")
    var users = 1

    @Option(help: "\(AudioWork.Side.allCases.map(\.rawValue).joined(separator: ", "))")
    var side: AudioWork.Side

    @Option(help: "Blocks of 10 ms to run")
    var blocks = 500

    func run() throws {
        let (work, side) = (AudioWork(users: users, blocks: blocks), side)
        try waiting { try await work.run(side) }
    }
}
