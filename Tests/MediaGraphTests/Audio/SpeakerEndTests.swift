import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests when the mix ends.
@Suite struct SpeakerEndTests {
    init() throws { try Nodes.register() }

    private let voice = noiseSamples(480 * 40, seed: 21)

    /// Pushes the given blocks of `voice` as the user and advances the clock by each block's duration.
    private func speak(_ room: SpeakerRoom, _ name: String, _ blocks: Range<Int>) {
        for index in blocks {
            room.say(name, voice[index * 480..<(index + 1) * 480], block: index)
            room.clock.advance(by: .milliseconds(10))
        }
    }

    /// Advances the clock until the mix has grown by `blocks`. Returns `false` if it doesn't.
    private func mixGrows(_ room: SpeakerRoom, by blocks: Int) -> Bool {
        let before = room.notes.mixed.count
        return waitUntil {
            room.clock.advance(by: .milliseconds(10))
            return room.notes.mixed.count >= before + blocks * 480
        }
    }

    @Test("SP-3 the mix ends when the last user's stream ends, and not before")
    func last() throws {
        let room = try SpeakerRoom()
        room.join("bob")
        speak(room, "anna", 0..<5)
        room.push("anna", .endOfStream)
        speak(room, "bob", 5..<10)
        #expect(mixGrows(room, by: 5))
        #expect(!room.notes.log.all.contains("finish"))
        room.push("bob", .endOfStream)
        #expect(
            waitUntil {
                room.clock.advance(by: .milliseconds(10))
                return room.notes.log.all.last == "finish"
            })
    }

    @Test("SP-1 a stream that ends before it has a format counts as ended, live or not")
    func endsWithoutFormat() async throws {
        for pace in ["live", "fast"] {
            let empty = "virtualmic name=empty pace=\(pace) ! ears.user_bob"
            let alone = try Graph("virtualspeaker name=ears handler=count \(empty)")
            try alone.virtualMic("empty").attach(RecordingMic(onStart: { $0.endOfStream() }))
            guard case .endOfStream = try await alone.run() else { throw Failure() }
            let beside = try Graph(
                """
                virtualspeaker name=ears handler=count \(empty) \
                virtualmic pace=\(pace) handler=tone options="seconds=0.1" ! ears.user_anna
                """)
            try beside.virtualMic("empty").attach(RecordingMic(onStart: { $0.endOfStream() }))
            guard case .endOfStream = try await beside.run() else { throw Failure() }
            #expect(try beside.virtualSpeaker("ears").statistics.frames > 0)
        }
    }

    private struct Failure: Error {}

    @Test("SP-3 a reserved pad keeps a live mix going, and its user is heard and ends the mix")
    func reservedPad() throws {
        let room = try SpeakerRoom()
        let reserved = try #require(room.speaker.requestPad("user_bob"))
        speak(room, "anna", 0..<5)
        room.push("anna", .endOfStream)
        #expect(mixGrows(room, by: 10))
        #expect(!room.notes.log.all.contains("finish"))
        // Bob's blocks have the current time; older ones would come too late for the mix.
        let now = Int(room.clock.time.nanoseconds / 10_000_000)
        room.join("bob")
        for index in 0..<5 {
            room.say("bob", voice[index * 480..<(index + 1) * 480], block: now + index)
            room.clock.advance(by: .milliseconds(10))
        }
        #expect(waitUntil { room.notes.samples(user: "bob") == Array(voice[0..<2400]) })
        #expect(mixGrows(room, by: 5))
        #expect(!room.notes.log.all.contains("finish"))
        room.push("bob", .endOfStream)
        #expect(
            waitUntil {
                room.clock.advance(by: .milliseconds(10))
                return room.notes.log.all.last == "finish"
            })
        withExtendedLifetime(reserved) {}
    }

    @Test("SP-3 a user whose stream has ended can come back on the same pad")
    func comesBack() throws {
        let room = try SpeakerRoom()
        room.join("bob", id: "lobby/bob/mic")
        speak(room, "anna", 0..<5)
        room.say("bob", voice[0..<480], block: 4)
        room.push("bob", .endOfStream)
        speak(room, "anna", 5..<10)
        room.push("bob", .streamStart("lobby/bob/mic"))
        room.push("bob", .caps("audio/x-raw,format=S16LE,rate=48000,channels=1,layout=interleaved"))
        room.push("bob", .segment)
        let bob = SpeakerStream.oneWay(SpeakerUser(name: "bob", room: "lobby"))
        for index in 10..<15 {
            #expect(room.say("bob", voice[index * 480..<(index + 1) * 480], block: index) == .ok)
            room.say("anna", [Int16](repeating: 0, count: 480)[...], block: index)
            room.clock.advance(by: .milliseconds(10))
        }
        #expect(waitUntil { room.notes.samples(bob).count == 480 * 6 })
        #expect(
            waitUntil {
                room.clock.advance(by: .milliseconds(10))
                return room.notes.mixed.count >= 7200
            })
        try #require(room.notes.mixed.count >= 7200)
        // The mix began with anna's first block.
        #expect(room.notes.mixed[4800..<7200] == voice[4800..<7200])
        #expect(room.notes.log.all.filter { $0.hasPrefix("bob") } == ["bob on", "bob off", "bob on"])
    }
}
