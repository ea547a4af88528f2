import ArgumentParser
import Dispatch
import Foundation
import MediaGraph
import MeetingRecorder

@main
struct RecordMeeting: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record-meeting",
        abstract: "Records picture and sound of a room's users in one file, until Ctrl-C.")

    @Argument(help: "The name of the room.")
    var room: String

    @Argument(help: "The users to record. They may join later.")
    var users: [String]

    @Option(name: .shortAndLong, help: "The Matroska file to write.", completion: .file())
    var output: String = "meeting.mkv"

    @Option(help: "The recorder's own name in the room.")
    var name: String = "recorder"

    func run() async throws {
        do {
            let graph = try MeetingRecorder(room: room, users: users, output: output, name: name).graph
            // Ctrl-C ends the stream, so that buffered data is written and the file gets its index.
            signal(SIGINT, SIG_IGN)
            let interrupt = DispatchSource.makeSignalSource(signal: SIGINT)
            interrupt.setEventHandler { Task { await graph.finish() } }
            interrupt.resume()
            defer { interrupt.cancel() }
            // Read before the graph starts, so that no event is missed.
            let events = graph.events
            let report = Task {
                for await event in events {
                    switch event {
                    case .userJoined(_, let user, _) where users.contains(user): say("\(user) is here")
                    case .userLeft(_, let user) where users.contains(user): say("\(user) has left")
                    case .warning(let warning): say("warning: \(warning)")
                    default: break
                    }
                }
            }
            defer { report.cancel() }
            guard case .endOfStream = try await graph.run() else { throw UnfinishedFile(path: output) }
            print(output)
        } catch {
            say("error: \(error)")
            throw ExitCode.failure
        }
    }
}

/// The graph was stopped before all data was written.
private struct UnfinishedFile: Error, CustomStringConvertible {
    let path: String

    var description: String {
        "\(path) is incomplete, because the stream didn't end in time; to write its index, run "
            + "ffmpeg -i \(path) -c copy repaired.mkv"
    }
}

private func say(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
