import ArgumentParser
import MediaGraph

/// A room in rounds, alone in its process: what callgrind runs.
struct RoomWorkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "room-work", abstract: "Run rounds of a room in which so many users send and read.")

    @Option(help: "How many send; of more than one, everybody reads everybody else")
    var senders = 1

    @Option(help: "How many only read")
    var readers = 0

    @Option(help: "native, or the resolution that pipes ask for, such as 180p")
    var resolution = Resolution.native.text

    @Option(help: "Frames of each sender")
    var rounds = 100

    func run() throws {
        guard let resolution = Resolution(text: resolution) else {
            throw ValidationError("there is no resolution \(resolution)")
        }
        // As the live rooms: 1280×720 of one, 320×180 of many.
        let (width, height) = senders == 1 ? (1280, 720) : (320, 180)
        try RoomRounds(
            senders: senders, readers: readers, width: width, height: height, resolution: resolution, rounds: rounds
        ).run()
    }
}
