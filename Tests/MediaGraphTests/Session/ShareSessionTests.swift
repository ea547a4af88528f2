import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests shares in sessions: who can read them, and who may share.
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

    private static func sendFrame(_ source: RecordingShare, at time: ClockTime? = nil, seed: Int = 0) throws {
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
            // Silence fills the rest of a block.
            guard let time = frame.runningTime, frame.samples.indices.contains(where: { frame.samples[$0] != 0 }) else {
                return
            }
            times.add(time)
        }
        func mixedAudioReceived(_ frame: borrowing AudioFrame) {
            if frame.samples.indices.contains(where: { frame.samples[$0] != 0 }) { log.add("audio in the mix") }
        }
        func statusChanged(isOn: Bool, of stream: SpeakerStream) {
            if stream == .shared { log.add(isOn ? "on" : "off") }
        }
    }

    /// A user who reads bob's shared video and audio.
    private struct Reader {
        let graph: Graph
        let video = Log<String>()
        let audio = Log<String>()
        let videoTimes = Log<ClockTime>()
        let audioTimes = Log<ClockTime>()

        init(_ room: String) throws {
            graph = try Graph(
                """
                mediasession name=call room=\(room) user=alice
                call.share_bob ! rawdatapipe name=p  call.shareaudio_bob ! v.shared
                virtualspeaker name=v rate=48000
                """)
            try graph.rawDataPipe("p").attach(Viewer(log: video, times: videoTimes))
            try graph.virtualSpeaker("v").attach(Listener(log: audio, times: audioTimes))
        }
    }

    @Test(
        "SH-4 a share's video is read through a pipe, and its audio as a speaker's shared stream"
    )
    func readByAnother() async throws {
        let room = "\"\(#function)\""
        let reader = try Reader(room)
        try await reader.graph.start()
        let (bob, source) = try sharer("bob", room: room)
        try await bob.start()
        try Self.sendFrame(source)
        try sendNow(source.audioSender, Self.block)
        #expect(waitUntil { reader.video.all.count == 2 && !reader.audioTimes.all.isEmpty })
        #expect(reader.video.all == ["on", "\(#function)/bob/share"])
        await bob.stop()
        #expect(waitUntil { reader.video.all.last == "off" && reader.audio.all.last == "off" })
        #expect(reader.audio.all == ["on", "off"])
        await reader.graph.stop()
    }

    @Test("SH-4 video and audio of the same moment reach another user with the same time")
    func inStep() async throws {
        let room = "\"\(#function)\""
        let reader = try Reader(room)
        try await reader.graph.start()
        let (bob, source) = try sharer("bob", room: room)
        try await bob.start()
        let now = try #require(source.sender.runningTime)
        let moment = ClockTime(nanoseconds: now.nanoseconds + 200_000_000)
        try Self.sendFrame(source, at: moment)
        try sendNow(source.audioSender, Self.block, at: moment)
        #expect(waitUntil { reader.videoTimes.all.count == 1 && !reader.audioTimes.all.isEmpty })
        let (video, audio) = try (#require(reader.videoTimes.all.first), #require(reader.audioTimes.all.first))
        // The speaker delivers blocks of 10 ms, and the audio may start within the first one.
        let difference = Int64(video.nanoseconds) - Int64(audio.nanoseconds)
        #expect((0...10_000_000).contains(difference), "\(video) \(audio)")
        for graph in [reader.graph, bob] { await graph.stop() }
    }

    @Test("SH-3 pausing and resuming a share turns its status off and on for readers")
    func pause() async throws {
        let room = "\"\(#function)\""
        let reader = try Reader(room)
        try await reader.graph.start()
        let (bob, source) = try sharer("bob", room: room)
        try await bob.start()
        let node = try bob.shareSource("s")
        let id = "\(#function)/bob/share"
        for round in 1...3 {
            try Self.sendFrame(source)
            try sendNow(source.audioSender, Self.block)
            #expect(waitUntil { reader.video.all.count == round * 3 - 1 && reader.audio.all.count == round * 2 - 1 })
            try await node.pause()
            #expect(waitUntil { reader.video.all.count == round * 3 && reader.audio.all.count == round * 2 })
            try await node.resume()
        }
        #expect(reader.video.all == ["on", id, "off", "on", id, "off", "on", id, "off"])
        #expect(reader.audio.all == ["on", "off", "on", "off", "on", "off"])
        #expect(reader.videoTimes.all == reader.videoTimes.all.sorted())
        for graph in [reader.graph, bob] { await graph.stop() }
    }

    @Test("SH-1 sharing can start and stop during a session, with other sources each time")
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
            try Self.sendFrame(source)
            #expect(waitUntil { reader.video.all.count == round * 3 - 1 })
            try await node.stopSharing()
            #expect(waitUntil { reader.video.all.count == round * 3 })
            #expect(source.calls.all == ["shareSendStarted", "shareSendStopped"])
        }
        #expect(reader.audio.all == [])
        for graph in [reader.graph, bob] { await graph.stop() }
    }

    // MARK: One share at a time

    @Test(
        "SH-1 a share waits while another user shares, with a warning and an event, and starts then"
    )
    func oneAtATime() async throws {
        let room = "\"\(#function)\""
        let reader = try Reader(room)
        try await reader.graph.start()
        let (carol, carols) = try sharer("carol", room: room)
        let (bob, bobs) = try sharer("bob", room: room)
        let (carolsReports, bobsReports) = (Self.reports(carol, of: "carol"), Self.reports(bob, of: "bob"))
        try await carol.start()
        try await bob.start()
        try sendNow(carols.audioSender, Self.block)
        #expect(try await eventually { carolsReports.all == ["carol's shareaudio on"] })
        // Neither bob's video nor his audio is sent, although carol only shares audio.
        for _ in 1...3 { try Self.sendFrame(bobs) }
        try sendNow(bobs.audioSender, Self.block)
        let refusal = "bob: user \"carol\" is already sharing"
        let warnings = ["share", "shareaudio"].map { "call: \($0) is on hold: \(refusal.dropFirst(5))" }
            .map { "\($0); it starts when that share ends" }
        #expect(try await eventually { bobsReports.all.count == 4 })
        #expect(bobsReports.all.sorted() == ([refusal, refusal] + warnings).sorted())
        #expect(reader.video.all == [] && reader.audio.all == [])
        try await carol.shareSource("s").stopSharing()
        #expect(try await eventually { carolsReports.all.last == "carol's shareaudio off" })
        try Self.sendFrame(bobs)
        let id = "\(#function)/bob/share"
        #expect(try await eventually { reader.video.all.last == id })
        // The share belongs to bob now.
        try await carol.shareSource("s").startSharing(carols)
        try Self.sendFrame(carols)
        #expect(try await eventually { carolsReports.all.contains { $0.contains("user \"bob\" is already sharing") } })
        // One of the first three frames may have reached the session only after the share became bob's.
        #expect(reader.video.all.first == "on" && Set(reader.video.all.dropFirst()) == [id])
        for graph in [reader.graph, carol, bob] { await graph.stop() }
    }

    /// Logs a graph's events about its user's shares as they come.
    private static func reports(_ graph: Graph, of user: String) -> Log<String> {
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

    @Test("SH-1 the first user who sends has the share until both streams are off, across processes too")
    func floor() throws {
        let time = VirtualClock()
        let floor = ShareFloor(clock: TimerClock(time))
        let folder = try TemporaryFolder()
        let requests = Log<String>()
        func take(_ user: String, _ kind: StreamKind, held: String? = nil) -> String? {
            do throws(MediaGraphError) {
                _ = try floor.take(StreamKey(user: user, kind: kind)) { () throws(MediaGraphError) in
                    requests.add(user)
                    if let held { return .sharedBy(held) }
                    return try FileLock(folder.file("share")).map { .granted($0) }
                }
                return nil
            } catch { return "\(error)" }
        }
        #expect(take("bob", .share, held: "dave") == "user \"dave\" is already sharing")
        // The request isn't repeated with each frame, but ten times a second.
        for count in 1...3 {
            for _ in 0..<10 { #expect(take("bob", .share, held: "dave") == "user \"dave\" is already sharing") }
            #expect(requests.all.count == count)
            time.advance(by: ShareFloor.refusalLifetime)
        }
        floor.invalidateRefusal()
        #expect(take("bob", .share) == nil)
        #expect(try FileLock(folder.file("share")) == nil)
        #expect(take("bob", .shareAudio) == nil)
        #expect(take("carol", .shareAudio) == "user \"bob\" is already sharing")
        floor.releaseFloor(StreamKey(user: "carol", kind: .shareAudio))
        floor.releaseFloor(StreamKey(user: "bob", kind: .share))
        #expect(take("carol", .shareAudio) == "user \"bob\" is already sharing")
        floor.releaseFloor(StreamKey(user: "bob", kind: .shareAudio))
        #expect(try FileLock(folder.file("share")) != nil)
        #expect(take("carol", .shareAudio) == nil)
    }
}
