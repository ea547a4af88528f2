import Bot
import Dispatch
import Foundation

let room = CommandLine.arguments.dropFirst().first ?? "lobby"
let session = try Bot().session(room: room)
// On Ctrl-C, leaves the room properly, so that other users are told.
signal(SIGINT, SIG_IGN)
let interrupt = DispatchSource.makeSignalSource(signal: SIGINT, queue: .main)
interrupt.setEventHandler { Task { await session.leave() } }
interrupt.resume()
let events = session.events
try await session.join()
for await event in events {
    if case .userJoined(let user) = event { print("\(user.name), you're in my song") }
    if case .left = event { break }
}
