import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests the commands that users send each other.
@Suite(.timeLimit(.minutes(10))) struct CommandTests {
    init() throws { try Nodes.register() }

    @Test("SE-11 a command reaches one user or everybody else, in order")
    func commandsToMembers() throws {
        let room = Room.named(#function, over: .roomLink)
        let (alice, bob, carol) = (LoggingMember("alice"), LoggingMember("bob"), LoggingMember("carol"))
        for member in [alice, bob, carol] { try room.join(member) }
        try room.send(.text("hello"), from: "alice", to: nil)
        try room.send(.bytes([1, 2]), from: "alice", to: "carol")
        try room.send(.text(""), from: "alice", to: "carol")
        try room.send(.text("to myself"), from: "alice", to: "alice")
        #expect(alice.events.all == ["+bob", "+carol", "alice: to myself"])
        #expect(bob.events.all == ["+alice", "+carol", "alice to all: hello"])
        #expect(carol.events.all == ["+alice", "+bob", "alice to all: hello", "alice: [1, 2]", "alice: "])
        for member in [alice, bob, carol] { room.leave(member) }
    }

    @Test("SE-11 a command that can't be delivered is a typed error")
    func refusedCommand() throws {
        let room = Room.named(#function, over: .roomLink)
        let (alice, bob) = (LoggingMember("alice"), LoggingMember("bob"))
        func error(_ command: SessionCommand, to user: String?) -> MediaGraphError? {
            #expect(throws: MediaGraphError.self) { try room.send(command, from: "alice", to: user) }
        }
        #expect(
            error(.text("x"), to: nil)
                == .notInSession(.init("user \"alice\"", actual: "can't send commands before joining is complete")))
        try room.join(alice)
        #expect(
            error(.text("x"), to: "bob")
                == .noSuchUser(.init("user \"bob\"", actual: "isn't in the room; no other user is there")))
        try room.join(bob)
        #expect(
            error(.text("x"), to: "carol")
                == .noSuchUser(.init("user \"carol\"", actual: "isn't in the room; other users there: bob")))
        let longest = [UInt8](repeating: 7, count: 16 * 1024)
        try room.send(.bytes(longest), from: "alice", to: "bob")
        #expect(
            error(.bytes(longest + [7]), to: "bob")
                == .tooMuchAtOnce(.init("a command", expected: "at most 16384 bytes", actual: "16385")))
        #expect(error(.text(String(repeating: "ä", count: 8193)), to: nil)?.code == .tooMuchAtOnce)
        #expect(
            error(.text("a\0b"), to: nil)
                == .invalidParameter(
                    .init("a command's text", actual: "contains a NUL character; send it as bytes")))
        #expect(bob.events.all == ["+alice", "alice: \(longest)"])
        for member in [alice, bob] { room.leave(member) }
        #expect(error(.text("x"), to: nil)?.code == .notInSession)
    }

    @Test("NW-1 SE-11 a transport carries commands to and from its users")
    func transport() throws {
        let made = Log<EchoTransport>()
        EchoTransport.register(#function, adding: made)
        let room = Room.named(#function, over: try #require(RoomTransportKind.named(#function)))
        let (alice, bob) = (LoggingMember("alice"), LoggingMember("bob"))
        for member in [alice, bob] { try room.join(member) }
        try room.send(.text("1"), from: "alice", to: "echo")
        try room.send(.text("2"), from: "alice", to: nil)
        try room.send(.text("3"), from: "alice", to: "bob")
        #expect(try #require(made.all.first).calls.all.suffix(2) == ["alice to echo: 1", "alice to all: 2"])
        #expect(alice.events.all == ["+echo", "+bob", "echo: 1", "echo: 2"])
        #expect(bob.events.all == ["+alice", "+echo", "alice to all: 2", "alice: 3"])
        for member in [alice, bob] { room.leave(member) }
    }

    @Test("SE-11 a command that comes before its user is welcomed follows what the user is told first")
    func commandOnArrival() throws {
        let made = Log<EchoTransport>()
        EchoTransport.register(#function, slowUsers: ["alice"], adding: made)
        let room = Room.named(#function, over: try #require(RoomTransportKind.named(#function)))
        let (alice, bob) = (LoggingMember("alice"), LoggingMember("bob"))
        try room.join(bob)
        let echo = try #require(made.all.first)
        echo.send("before alice", to: nil)
        room.join(alice) { _ in }
        // Remote users may know alice by now.
        echo.send("hello", to: "alice")
        echo.send("to all", to: nil)
        #expect(alice.events.all == [])
        echo.answer("alice")
        #expect(alice.events.all == ["+bob", "+echo", "echo: hello", "echo to all: to all"])
        #expect(bob.events.all == ["+echo", "echo to all: before alice", "echo to all: to all", "+alice"])
        for member in [alice, bob] { room.leave(member) }
        echo.send("too late", to: nil)
    }

    @Test("SE-11 commands reach other processes, the longest ones too, and in order")
    func commandsToProcesses() throws {
        let (first, second) = (OtherRoom(), OtherRoom())
        let (early, late) = try OtherRoom.links(#function, first, second)
        // In JSON, each of these characters is written as six.
        let longest = String(repeating: "\u{1}", count: SessionCommand.longest)
        let commands: [SessionCommand] =
            [.text("hello"), .bytes([0, 255]), .text(longest), .bytes(Array(longest.utf8))]
            + (0..<100).map { .text("\($0)") }
        for command in commands { try early.send(command, from: "bob", to: "alice") }
        try early.send(.text("all"), from: "bob", to: nil)
        let expected = commands.map { "bob to alice: \($0.content)" } + ["bob to all: all"]
        #expect(waitUntil { second.commands.all == expected })
        #expect(first.commands.all.isEmpty)
        let error = #expect(throws: MediaGraphError.self) { try early.send(.text("x"), from: "bob", to: "carol") }
        #expect(error?.code == .noSuchUser)
        late.stop()
        early.stop()
    }

    @Test("SE-11 a program that doesn't read its commands gets no more, and stays in the room")
    func tooMany() throws {
        let (first, second) = (OtherRoom(), OtherRoom())
        let (early, late) = try OtherRoom.links(#function, first, second)
        // The other process's thread is stuck while it notifies its room of a stream.
        second.isStuck.store(true, ordering: .releasing)
        early.streamChanged(StreamKey(user: "bob", kind: .camera), .status(isOn: true))
        #expect(waitUntil { second.changes.all.count == 1 })
        var count = 0
        let error = #expect(throws: MediaGraphError.self) {
            while count < 10_000 {
                try early.send(.bytes([UInt8](repeating: 1, count: SessionCommand.longest)), from: "bob", to: nil)
                count += 1
            }
        }
        #expect(
            error
                == .tooFrequent(
                    .init(
                        "the command to alice",
                        actual: "can't be sent: earlier ones haven't been read yet; try again later")))
        second.isStuck.store(false, ordering: .releasing)
        #expect(waitUntil { second.commands.all.count == count })
        #expect(waitUntil { (try? early.send(.text("again"), from: "bob", to: nil)) != nil })
        #expect(waitUntil { second.commands.all.last == "bob to all: again" })
        #expect(second.users.all == ["bob"])
        late.stop()
        early.stop()
    }

    @Test("SE-11 a peer that sends a command for a user it doesn't have, or too long a one, changes nothing")
    func invalidCommand() async throws {
        let other = OtherRoom()
        let process = try OtherProcess(room: #function)
        let link = try RoomLink.started(#function, other)
        #expect(try await process.greet(["bob"]))
        process.send(.command(SharedCommand(.text("1")), from: "mallory", to: nil))
        process.send(.command(SharedCommand(.text("2")), from: "bob", to: nil))
        #expect(try await eventually { other.commands.all == ["bob to all: 2"] })
        process.send(.command(SharedCommand(.bytes([UInt8](repeating: 1, count: 16385))), from: "bob", to: nil))
        #expect(try await eventually { other.users.all == ["bob", "-bob"] })
        #expect(other.commands.all == ["bob to all: 2"])
        link.stop()
        process.leave()
    }

    @Test("SE-11 elements have actions that send, and messages that report, commands")
    func actions() async throws {
        let alice = try Graph("mediasession name=call room=command-actions user=alice")
        let bob = try Graph("mediasession name=call room=command-actions user=bob")
        let log = Log<String>()
        let events = bob.events
        Task {
            for await case .userCommand(_, let user, let command, let isForAll) in events {
                log.add("\(user)\(isForAll ? " to all" : ""): \(command.content)")
            }
        }
        let call = try alice.element("call")
        let details = try #require(call.perform("send-text", "bob", "too early"))
        #expect(
            MediaGraphError(details: details)
                == .notInSession(.init("call", actual: "isn't in a room, so it can't send commands")))
        try await bob.start()
        try await alice.start()
        #expect(call.perform("send-text", "bob", "hello") == nil)
        #expect(call.perform("send-bytes-to-all", [UInt8]([0, 1])) == nil)
        #expect(call.perform("send-bytes", "bob", [UInt8]()) == nil)
        #expect(call.perform("send-text-to-all", "") == nil)
        let nobody = try #require(call.perform("send-text", "", "x"))
        #expect(MediaGraphError(details: nobody)?.code == .noSuchUser)
        let missing = try #require(call.perform("send-text", "carol", "x"))
        #expect(MediaGraphError(details: missing)?.code == .noSuchUser)
        let expected = ["alice: hello", "alice to all: [0, 1]", "alice: []", "alice to all: "]
        #expect(try await eventually { log.all == expected }, "\(log.all)")
        await alice.stop()
        #expect(
            try #require(call.perform("send-text-to-all", "too late"))["code"]
                == MediaGraphError.Code.notInSession.rawValue)
        await bob.stop()
    }

    @Test("SE-11 from Swift, commands are sent to a user or to all, and received as a sequence and as events")
    func commandsOfSessions() async throws {
        let alice = try session("alice", #function)
        let bob = try session("bob", #function)
        let log = SessionLog()
        bob.delegate = log
        let received = bob.commandChannel.received
        let early = #expect(throws: MediaGraphError.self) { try alice.commandChannel.send("too early") }
        #expect(early?.code == .notInSession)
        try await bob.join()
        try await alice.join()
        #expect(try await eventually { log.log.all.last == "+alice" })
        // More than the 256 events that an unread stream of events holds.
        for number in 0..<300 { try alice.commandChannel.send("\(number)") }
        try alice.commandChannel.send(bytes: Data([1, 2]), to: alice.user("bob"))
        let commands = try await collect(301, of: received)
        #expect(commands.map(\.command) == (0..<300).map { .text("\($0)") } + [.bytes([1, 2])])
        #expect(commands.allSatisfy { $0.sender.name == "alice" && $0.sender.session === bob })
        #expect(commands.map(\.isForAll) == Array(repeating: true, count: 300) + [false])
        #expect(try await eventually { log.log.all.count == 303 })
        await bob.leave()
        #expect(try await eventually { alice.remoteUsers.isEmpty })
        let late = #expect(throws: MediaGraphError.self) {
            try alice.commandChannel.send("x", to: SessionUser(name: "bob", session: alice))
        }
        #expect(late?.code == .noSuchUser)
        await alice.leave()
    }

    /// Returns the first commands of a stream.
    private func collect(
        _ count: Int, of commands: AsyncStream<ReceivedCommand>
    ) async throws -> [ReceivedCommand] {
        var all: [ReceivedCommand] = []
        for await command in commands {
            all.append(command)
            if all.count == count { break }
        }
        return all
    }
}
