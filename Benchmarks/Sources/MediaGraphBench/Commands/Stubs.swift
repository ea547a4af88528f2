import ArgumentParser

struct ThroughputCommand: ParsableCommand { static let configuration = CommandConfiguration(commandName: "throughput") }
struct LatenessCommand: ParsableCommand { static let configuration = CommandConfiguration(commandName: "lateness") }
struct AllCommand: ParsableCommand { static let configuration = CommandConfiguration(commandName: "all") }
