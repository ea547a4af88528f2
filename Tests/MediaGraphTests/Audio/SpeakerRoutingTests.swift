import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests that a stream's ID, not the pad it arrives on, decides how a speaker treats it.
@Suite(.timeLimit(.minutes(10))) struct SpeakerRoutingTests {
    init() throws { try Nodes.register() }

    private let voice = noiseSamples(480 * 10, seed: 31)
    private let music = noiseSamples(480 * 10, seed: 32)

    private func block(_ samples: [Int16], _ index: Int) -> ArraySlice<Int16> {
        samples[index * 480..<(index + 1) * 480]
    }

    @Test("SP-1 a share's audio on a user's pad is the shared stream and not part of the mix")
    func shareOnUserPad() throws {
        let room = try SpeakerRoom()
        room.join("x", id: "lobby/carol/shareaudio")
        for index in 0..<5 {
            room.say("anna", block(voice, index), block: index)
            room.say("x", block(music, index), block: index)
            room.clock.advance(by: .milliseconds(10))
        }
        #expect(waitUntil { room.notes.mixed.count >= 480 * 5 && room.notes.samples(.shared).count == 480 * 5 })
        #expect(room.notes.mixed.prefix(480 * 5) == voice.prefix(480 * 5))
        #expect(room.notes.samples(.shared) == Array(music.prefix(480 * 5)))
        #expect(!room.notes.log.all.contains("carol on"))
    }

    @Test("SP-1 a user's voice on the share's pad belongs to the user and is mixed")
    func voiceOnSharePad() throws {
        let room = try SpeakerRoom()
        room.join("x", id: "lobby/carol/audio", pad: "shared")
        let silence = [Int16](repeating: 0, count: 480)
        for index in 0..<5 {
            room.say("anna", silence[...], block: index)
            room.say("x", block(music, index), block: index)
            room.clock.advance(by: .milliseconds(10))
        }
        let carol = SpeakerStream.oneWay(SpeakerUser(name: "carol", room: "lobby"))
        #expect(waitUntil { room.notes.mixed.count >= 480 * 5 && room.notes.samples(carol).count == 480 * 5 })
        #expect(room.notes.mixed.prefix(480 * 5) == music.prefix(480 * 5))
        #expect(room.notes.samples(.shared).isEmpty)
    }

    @Test("SP-1 a pad may change between a user's voice and a share's audio")
    func turns() throws {
        let room = try SpeakerRoom()
        room.join("x", id: "lobby/carol/audio")
        let silence = [Int16](repeating: 0, count: 480)
        for index in 0..<9 {
            if index % 3 == 0, index > 0 {
                room.push("x", .streamStart(index == 3 ? "lobby/carol/shareaudio" : "lobby/carol/audio"))
                room.push("x", .caps("audio/x-raw,format=S16LE,rate=48000,channels=1,layout=interleaved"))
                room.push("x", .segment)
            }
            room.say("anna", silence[...], block: index)
            #expect(room.say("x", block(music, index), block: index) == .ok)
            room.clock.advance(by: .milliseconds(10))
        }
        #expect(waitUntil { room.notes.mixed.count >= 480 * 9 })
        let isSilentInBetween = (0..<480 * 9).allSatisfy { index in
            room.notes.mixed[index] == ((480 * 3..<480 * 6).contains(index) ? 0 : music[index])
        }
        #expect(isSilentInBetween)
        #expect(room.notes.samples(.shared) == Array(music[480 * 3..<480 * 6]))
        #expect(
            room.notes.log.all.filter { !$0.hasPrefix("anna") && !$0.hasPrefix("mixed") }
                == ["carol on", "carol off", "shared on", "shared off", "carol on"])
    }

    @Test("SP-1 a stream that brought nothing leaves nothing in the mix when its pad changes to a share's audio")
    func unusedTurn() throws {
        let room = try SpeakerRoom()
        let node = ElementClass.implementation(of: room.speaker.element, as: VirtualSpeakerElement.self)
        let before = node.mix.mixer.pads.count
        room.join("x", id: "lobby/carol/shareaudio")
        room.say("x", block(music, 0), block: 0)
        for id in ["lobby/carol/audio", "lobby/carol/shareaudio"] {
            room.push("x", .streamStart(id))
            room.push("x", .caps("audio/x-raw,format=S16LE,rate=48000,channels=1,layout=interleaved"))
            room.push("x", .segment)
        }
        #expect(node.mix.mixer.pads.count == before)
    }

    @Test("SH-4 a share's audio that arrives in buffer lists is delivered completely")
    func lists() throws {
        let room = try SpeakerRoom()
        let share = Harness(room.speaker, sink: "shared", source: nil)
        share.setSourceCaps("audio/x-raw,format=S16LE,rate=48000,channels=1,layout=interleaved")
        let blocks = (0..<5).map { block(music, $0).withUnsafeBytes { Array($0) } }
        #expect(share.push(list: blocks, lasting: .milliseconds(10)) == .ok)
        #expect(waitUntil { room.notes.samples(.shared) == Array(music.prefix(480 * 5)) })
    }

    @Test(
        "SP-3 a resampled stream is heard to its last sample, whether it ends or its user leaves",
        arguments: [44_100, 8000])
    func resampledLeaver(rate: Int) throws {
        let count = rate / 100 * 5
        let said = Sine(440, rate: rate).samples(0, count)
        func hear(until end: (SpeakerRoom) -> Void) throws -> (alone: [Int16], mixed: [Int16]) {
            let room = try SpeakerRoom(latency: .milliseconds(100))
            room.join("bob", rate: rate)
            let silence = [Int16](repeating: 0, count: 480)
            for index in 0..<5 {
                room.say("anna", silence[...], block: index)
                room.say("bob", said[index * count / 5..<(index + 1) * count / 5], block: index)
                if index < 4 { room.clock.advance(by: .milliseconds(10)) }
            }
            end(room)
            #expect(waitUntil { room.notes.log.all.contains("bob off") })
            room.say("anna", silence[...], block: 5)
            room.clock.advance(by: .milliseconds(300))
            #expect(waitUntil { room.notes.mixed.count >= 2400 })
            let alone = room.notes.samples(user: "bob")
            return (alone, Array(room.notes.mixed.prefix(alone.count)))
        }
        let ended = try hear { $0.push("bob", .endOfStream) }
        let left = try hear { $0.leave("bob") }
        // The resampler may round what it holds up or down.
        #expect((2390...2400).contains(ended.alone.count))
        // Compares indices, because a failed expectation would print all samples.
        let differing = { (a: [Int16], b: [Int16]) in
            a.count == b.count ? a.indices.filter { a[$0] != b[$0] } : [a.count, b.count]
        }
        #expect(differing(left.alone, ended.alone) == [])
        #expect(differing(left.mixed, ended.mixed) == [])
        #expect(differing(left.mixed, left.alone) == [])
    }

    @Test("SP-3 min-upstream-latency is a live mix's least latency, so a user who joins doesn't raise it")
    func latency() throws {
        for (least, expected) in [("0", 20), ("300000000", 300)] {
            let speaker = try #require(Element(factory: "virtualspeaker"))
            try speaker.setProperty("min-upstream-latency", parsing: least)
            let harness = Harness(speaker, sink: "user_anna", source: "src")
            harness.setUpstreamLatency(.milliseconds(20))
            harness.setSourceCaps("audio/x-raw,format=S16LE,rate=48000,channels=1,layout=interleaved")
            let latency = try #require(harness.latency)
            // The mix adds a block of 10 ms.
            #expect(latency.isLive && latency.minimum == .milliseconds(UInt64(expected + 10)), "\(latency)")
        }
    }

    @Test("SP-1 channels without positions cause an error that says so")
    func unpositioned() async throws {
        let graph = try Graph(
            "audiotestsrc ! audio/x-raw,channels=3,channel-mask=(bitmask)0 ! virtualspeaker name=ears handler=count")
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(try #require(error))".contains("can't mix 3 channels without positions"))
    }
}
