import CMediaGraphABI
import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests when a speaker's streams are on and off.
@Suite(.timeLimit(.minutes(10))) struct SpeakerStatusTests {
    init() throws { try Nodes.register() }

    @Test(
        "SP-3 a leaving user's stream is on before its first block and off after its last, once each",
        arguments: [8000, 16_000, 44_100, 48_000], [true, false])
    func leaving(rate: Int, saysOff: Bool) throws {
        let count = rate / 100
        let said = noiseSamples(count * 5, seed: 7)
        let room = try SpeakerRoom(latency: .milliseconds(100))
        for user in ["bob", "carol"] { room.join(user, rate: rate) }
        let silence = [Int16](repeating: 0, count: 480)
        func speak(_ users: [String], block index: Int) {
            room.say("anna", silence[...], block: index)
            for user in users { room.say(user, said[index * count..<(index + 1) * count], block: index) }
            room.clock.advance(by: .milliseconds(10))
        }
        for user in ["bob", "carol"] { room.turn(user, on: true) }
        for index in 0..<3 { speak(["bob", "carol"], block: index) }
        if saysOff { room.turn("bob", on: false) }
        room.leave("bob")
        // Waits until the thread that drains the leaving user's resampler has ended. What it delivered is queued before
        // Anna's next block.
        let node = ElementClass.implementation(of: room.speaker.element, as: VirtualSpeakerElement.self)
        _ = node.helpers.wait { $0 == 0 ? () : nil }
        for index in 3..<5 { speak(["carol"], block: index) }
        #expect(waitUntil { room.notes.samples(user: "anna").count == 480 * 5 })
        room.speaker.setState(.ready)
        let log = room.notes.log.all
        #expect(log.filter { $0.hasPrefix("bob") } == ["bob on", "bob off"], "\(log)")
        #expect(log.filter { $0.hasPrefix("carol") } == ["carol on", "carol off"], "\(log)")
        // Nothing is lost: the resampler may only round what it holds up or down.
        #expect((480 * 3 - 10...480 * 3).contains(room.notes.samples(user: "bob").count))
    }

    @Test("SP-3 a muted user's last samples are heard before the stream is off, and speech after it begins anew")
    func muting() throws {
        let said = noiseSamples(160 * 6, seed: 8)
        let room = try SpeakerRoom(latency: .milliseconds(100))
        room.join("bob", rate: 16_000)
        for index in 0..<6 {
            if index % 3 == 0 { room.turn("bob", on: true) }
            room.say("anna", [Int16](repeating: 0, count: 480)[...], block: index)
            room.say("bob", said[index * 160..<(index + 1) * 160], block: index)
            room.clock.advance(by: .milliseconds(10))
            if index % 3 == 2 {
                room.turn("bob", on: false)
                // The resampler may round what it holds up or down.
                #expect(waitUntil { abs(room.notes.samples(user: "bob").count - 480 * (index + 1)) <= 20 })
            }
        }
        room.leave("bob")
        #expect(waitUntil { room.notes.samples(user: "anna").count == 480 * 6 })
        room.speaker.setState(.ready)
        #expect(room.notes.log.all.filter { $0.hasPrefix("bob") } == ["bob on", "bob off", "bob on", "bob off"])
    }

    private struct StatusLog: VirtualSpeaker, Sendable {
        let log = Log<String>()
        func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) { log.add("\(user.name) block") }
        func statusChanged(isOn: Bool, of stream: SpeakerStream) {
            if let user = stream.user { log.add("\(user.name) \(isOn ? "on" : "off")") }
        }
    }

    @Test(
        "SP-3 when one of two heard users leaves a session, their stream is off once, after its last block",
        arguments: [16_000, 48_000])
    func sessionStatus(rate: Int) async throws {
        let room = "\(#function)-\(rate)"
        let speaker = StatusLog()
        let alice = try MediaGraphTests.session("alice", room) { $0.virtualAudioSpeaker = speaker }
        try await alice.join()
        for round in 1...4 {
            let others = try ["bob", "carol"].map { user in
                try MediaGraphTests.session(user, room) {
                    $0.microphone =
                        "audiotestsrc is-live=true samplesperbuffer=\(rate / 100) ! "
                        + "audio/x-raw,format=S16LE,rate=\(rate),channels=1"
                }
            }
            for other in others { try await other.join() }
            let before = speaker.log.all.count
            #expect(
                try await eventually {
                    let new = speaker.log.all.dropFirst(before)
                    return ["bob", "carol"].allSatisfy { user in new.count { $0 == "\(user) block" } > 10 }
                })
            for other in others { await other.leave() }
            #expect(try await eventually { alice.remoteUsers.isEmpty })
            await alice.settle()
            let statuses = speaker.log.all.filter { !$0.hasSuffix("block") }
            for user in ["bob", "carol"] {
                #expect(
                    try await eventually { speaker.log.all.count { $0 == "\(user) off" } >= round }, "\(statuses)")
            }
        }
        // Waits for what the resamplers of the leaving users still held.
        await alice.leave()
        for user in ["bob", "carol"] {
            let log = speaker.log.all.filter { $0.hasPrefix(user) }
            #expect(log.filter { !$0.hasSuffix("block") } == (0..<4).flatMap { _ in ["\(user) on", "\(user) off"] })
            for (index, entry) in log.enumerated() where entry == "\(user) on" {
                #expect(index == 0 || log[index - 1] == "\(user) off")
            }
        }
    }
}
