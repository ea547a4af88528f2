import ArgumentParser

@main
struct MediaGraphBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mediagraph-bench",
        abstract: "Compares MediaGraph with plain C written for the same work.",
        discussion: "Build it with -c release. Every comparison runs both sides; `work` runs one side of one case.",
        subcommands: [
            WorkCommand.self, InstructionsCommand.self, AllocationsCommand.self, ThroughputCommand.self,
            LatenessCommand.self, AudioWorkCommand.self, AudioCommand.self, RoomWorkCommand.self, RoomCommand.self,
            AllCommand.self,
        ])
}
