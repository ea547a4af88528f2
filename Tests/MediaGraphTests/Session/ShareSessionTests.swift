import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Shares in sessions: who reads them, and who may share.
@Suite struct ShareSessionTests {
    init() throws { try Nodes.register() }

    private static let block = [Int16](repeating: 1000, count: 480)

    private func sharer(
        _ user: String, room: String, pads: String = "s. ! call.share  s.audio ! call.shareaudio"
    ) throws -> (graph: Graph, source: RecordingShare) {
        let graph = try Graph("mediasession name=call room=\(room) user=\(user)  sharesource name=s  \(pads)")
        let source = RecordingShare()
        try graph.shareSource("s").attach(source)
        try graph.shareSource("s").attach(audioSource: source)
        return (graph, source)
    }

    private static func sendPicture(_ source: RecordingShare, at time: ClockTime? = nil, seed: Int = 0) throws {
        try sendNow(
            source.sender, patternedFrame(width: 16, height: 16, seed: seed),
            FrameDescription(width: 16, height: 16, timestamp: time ?? source.sender.runningTime))
    }

    private struct Viewer: VideoConsumer {
        let log: Log<String>
        let times: Log<ClockTime>
        func statusChanged(isOn: Bool) { log.add(isOn ? "on" : "off") }
        func receive(_ frame: borrowing VideoFrame) {
            log.add(frame.streamID ?? "no stream")
            if let time = frame.runningTime { times.add(time) }
        }
    }

    private struct Listener: VirtualSpeaker {
        let log: Log<String>
        let times: Log<ClockTime>
        func sharedAudioReceived(_ frame: borrowing AudioFrame) {
            // Silence fills up what is missing of a block.
            guard let time = frame.runningTime, frame.samples.indices.contains(where: { frame.samples[$0] != 0 }) else {
                return
            }
            times.add(time)
        }
        func mixedAudioReceived(_ frame: borrowing AudioFrame) {
            if frame.samples.indices.contains(where: { frame.samples[$0] != 0 }) { log.add("heard in the mix") }
        }
        func statusChanged(isOn: Bool, of stream: SpeakerStream) {
            if stream == .shared { log.add(isOn ? "on" : "off") }
        }
    }

    /// A user who watches and hears bob's share.
    private struct Reader {
        let graph: Graph
        let picture = Log<String>()
        let sound = Log<String>()
        let pictureTimes = Log<ClockTime>()
        let soundTimes = Log<ClockTime>()

        init(_ room: String) throws {
            graph = try Graph(
                """
                mediasession name=call room=\(room) user=alice
                call.share_bob ! rawdatapipe name=p  call.shareaudio_bob ! v.shared
                virtualspeaker name=v rate=48000
                """)
            try graph.rawDataPipe("p").attach(Viewer(log: picture, times: pictureTimes))
            try graph.virtualSpeaker("v").attach(Listener(log: sound, times: soundTimes))
        }
    }

    @Test(
        "SH-4 a share is read through its pipe, and its sound as a speaker's shared stream, which is no part of the mix"
    )
    func readByAnother() async throws {
        let room = "\"\(#function)\""
        let reader = try Reader(room)
        try await reader.graph.start()
        let (bob, source) = try sharer("bob", room: room)
        try await bob.start()
        try Self.sendPicture(source)
        try sendNow(source.audioSender, Self.block)
        #expect(waitUntil { reader.picture.all.count == 2 && !reader.soundTimes.all.isEmpty })
        #expect(reader.picture.all == ["on", "\(#function)/bob/share"])
        await bob.stop()
        #expect(waitUntil { reader.picture.all.last == "off" && reader.sound.all.last == "off" })
        #expect(reader.sound.all == ["on", "off"])
        await reader.graph.stop()
    }

    @Test("SH-4 picture and sound of one moment reach another user with one time, whatever their latencies")
    func inStep() async throws {
        let room = "\"\(#function)\""
        let reader = try Reader(room)
        try await reader.graph.start()
        let (bob, source) = try sharer("bob", room: room)
        try await bob.start()
        let now = try #require(source.sender.runningTime)
        let moment = ClockTime(nanoseconds: now.nanoseconds + 200_000_000)
        try Self.sendPicture(source, at: moment)
        try sendNow(source.audioSender, Self.block, at: moment)
        #expect(waitUntil { reader.pictureTimes.all.count == 1 && !reader.soundTimes.all.isEmpty })
        let (picture, sound) = try (#require(reader.pictureTimes.all.first), #require(reader.soundTimes.all.first))
        // The speaker hands over whole blocks of 10 ms, of which the sound may begin inside the first.
        let difference = Int64(picture.nanoseconds) - Int64(sound.nanoseconds)
        #expect((0...10_000_000).contains(difference), "\(picture) \(sound)")
        for graph in [reader.graph, bob] { await graph.stop() }
    }

    @Test("SH-3 a paused share is off for its readers and on again when it goes on, in a graph that runs all the time")
    func pause() async throws {
        let room = "\"\(#function)\""
        let reader = try Reader(room)
        try await reader.graph.start()
        let (bob, source) = try sharer("bob", room: room)
        try await bob.start()
        let node = try bob.shareSource("s")
        let id = "\(#function)/bob/share"
        for round in 1...3 {
            try Self.sendPicture(source)
            try sendNow(source.audioSender, Self.block)
            #expect(waitUntil { reader.picture.all.count == round * 3 - 1 && reader.sound.all.count == round * 2 - 1 })
            try await node.pause()
            #expect(waitUntil { reader.picture.all.count == round * 3 && reader.sound.all.count == round * 2 })
            try await node.resume()
        }
        #expect(reader.picture.all == ["on", id, "off", "on", id, "off", "on", id, "off"])
        #expect(reader.sound.all == ["on", "off", "on", "off", "on", "off"])
        #expect(reader.pictureTimes.all == reader.pictureTimes.all.sorted())
        for graph in [reader.graph, bob] { await graph.stop() }
    }

    @Test("SH-1 sharing starts and stops in a session that was joined long before, with other sources each time")
    func startedInSession() async throws {
        let room = "\"\(#function)\""
        let reader = try Reader(room)
        try await reader.graph.start()
        let bob = try Graph(
            """
            mediasession name=call room=\(room) user=bob
            sharesource name=s  s. ! call.share  s.audio ! call.shareaudio
            """)
        try await bob.start()
        let node = try bob.shareSource("s")
        for round in 1...3 {
            let source = RecordingShare()
            try await node.startSharing(source)
            try Self.sendPicture(source)
            #expect(waitUntil { reader.picture.all.count == round * 3 - 1 })
            try await node.stopSharing()
            #expect(waitUntil { reader.picture.all.count == round * 3 })
            #expect(source.calls.all == ["shareSendStarted", "shareSendStopped"])
        }
        #expect(reader.sound.all == [])
        for graph in [reader.graph, bob] { await graph.stop() }
    }

    // MARK: One shares at a time

    @Test(
        "SH-1 a share while another's is on waits for its end, with a warning and an event; nothing of it is seen before"
    )
    func oneAtATime() async throws {
        let room = "\"\(#function)\""
        let reader = try Reader(room)
        try await reader.graph.start()
        let (carol, carols) = try sharer("carol", room: room)
        let (bob, bobs) = try sharer("bob", room: room)
        let (toldCarol, toldBob) = (Self.told(carol, of: "carol"), Self.told(bob, of: "bob"))
        try await carol.start()
        try await bob.start()
        try sendNow(carols.audioSender, Self.block)
        #expect(try await eventually { toldCarol.all == ["carol's shareaudio on"] })
        // Neither bob's picture nor his sound, though carol shares sound alone.
        for _ in 1...3 { try Self.sendPicture(bobs) }
        try sendNow(bobs.audioSender, Self.block)
        let refusal = "bob: user \"carol\" is already sharing"
        let warnings = ["share", "shareaudio"].map { "call: \($0) is on hold: \(refusal.dropFirst(5))" }
            .map { "\($0); it starts when that share ends" }
        #expect(try await eventually { toldBob.all.count == 4 })
        #expect(toldBob.all.sorted() == ([refusal, refusal] + warnings).sorted())
        #expect(reader.picture.all == [] && reader.sound.all == [])
        try await carol.shareSource("s").stopSharing()
        #expect(try await eventually { toldCarol.all.last == "carol's shareaudio off" })
        try Self.sendPicture(bobs)
        let id = "\(#function)/bob/share"
        #expect(try await eventually { reader.picture.all.last == id })
        // It is bob's now.
        try await carol.shareSource("s").startSharing(carols)
        try Self.sendPicture(carols)
        #expect(try await eventually { toldCarol.all.contains { $0.contains("user \"bob\" is already sharing") } })
        // One of the first three may have come to the session only when it was bob's turn.
        #expect(reader.picture.all.first == "on" && Set(reader.picture.all.dropFirst()) == [id])
        for graph in [reader.graph, carol, bob] { await graph.stop() }
    }

    /// What a graph says of its user's shares, as it comes.
    private static func told(_ graph: Graph, of user: String) -> Log<String> {
        let log = Log<String>()
        let events = graph.events
        Task {
            for await event in events {
                switch event {
                case .userStream(_, user, let kind, let isOn): log.add("\(user)'s \(kind) \(isOn ? "on" : "off")")
                case .shareRefused(_, let user, _, let reason): log.add("\(user): \(reason)")
                case .warning(let failure): log.add(failure.error.message)
                default: break
                }
            }
        }
        return log
    }

    @Test("SH-1 who shares is settled by who sends first, until both streams are off; a lock decides between processes")
    func floor() throws {
        let floor = ShareFloor()
        let folder = try TemporaryFolder()
        let asked = Log<String>()
        func take(_ user: String, _ kind: StreamKind, held: String? = nil) -> String? {
            do throws(MediaGraphError) {
                try floor.take(StreamKey(user: user, kind: kind)) { () throws(MediaGraphError) in
                    asked.add(user)
                    if let held { return .sharedBy(held) }
                    return try FileLock(folder.file("share")).map { .granted($0) }
                }
                return nil
            } catch { return "\(error)" }
        }
        #expect(take("bob", .share, held: "dave") == "user \"dave\" is already sharing")
        // Not with each frame.
        let began = monotonicNanoseconds()
        for _ in 0..<1000 { #expect(take("bob", .share, held: "dave") == "user \"dave\" is already sharing") }
        #expect(asked.all.count <= 2 + Int((monotonicNanoseconds() - began) / 100_000_000))
        floor.askAgain()
        #expect(take("bob", .share) == nil)
        #expect(try FileLock(folder.file("share")) == nil)
        #expect(take("bob", .shareAudio) == nil)
        #expect(take("carol", .shareAudio) == "user \"bob\" is already sharing")
        floor.giveBack(StreamKey(user: "carol", kind: .shareAudio))
        floor.giveBack(StreamKey(user: "bob", kind: .share))
        #expect(take("carol", .shareAudio) == "user \"bob\" is already sharing")
        floor.giveBack(StreamKey(user: "bob", kind: .shareAudio))
        #expect(try FileLock(folder.file("share")) != nil)
        #expect(take("carol", .shareAudio) == nil)
    }
}
