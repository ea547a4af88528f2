import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphSession

/// Tests cameras and microphones that are turned off and on while their user is in a room.
@Suite(.timeLimit(.minutes(10))) struct MuteTests {
    init() throws { try Nodes.register() }

    /// Logs a pipe's status changes and frames, and the frames' times.
    private struct Viewer: VideoConsumer {
        let log: Log<String>
        var times = Log<ClockTime>()
        func statusChanged(isOn: Bool) { log.add(isOn ? "on" : "off") }
        func receive(_ frame: borrowing VideoFrame) {
            log.add("frame")
            if let time = frame.presentationTimestamp { times.add(time) }
        }
    }

    /// Logs what a graph reports about the users' streams.
    private func report(_ graph: Graph) -> Log<String> {
        let log = Log<String>()
        let events = graph.events
        Task {
            for await event in events {
                switch event {
                case .userMuted(_, let user, let kind, let isMuted):
                    log.add("\(user) \(isMuted ? "mutes" : "unmutes") \(kind)")
                case .userStream(_, let user, let kind, let isOn): log.add("\(user)'s \(kind) \(isOn ? "on" : "off")")
                case .userJoined(_, let user, _): log.add("+\(user)")
                case .userLeft(_, let user): log.add("-\(user)")
                default: break
                }
            }
        }
        return log
    }

    /// A graph whose user bob sees alice's video at the pipe `pipe`.
    private func viewer(_ room: String) throws -> (graph: Graph, seen: Viewer) {
        let graph = try Graph(
            "mediasession name=call room=\(room) user=bob  call.video_alice ! rawdatapipe name=pipe")
        let seen = Viewer(log: Log())
        try graph.rawDataPipe("pipe").attach(seen)
        return (graph, seen)
    }

    private func muted(_ graph: Graph) throws -> NodeCounts { try #require(NodeCounts(graph.element("call"))) }

    @Test("SE-8 a camera turned off stops its source, tells the readers and members, and comes back")
    func camera() async throws {
        let (alice, source) = try publisherGraph("alice", room: "camera-off")
        let (bob, seen) = try viewer("camera-off")
        let reported = report(bob)
        try await bob.start()
        try await alice.start()
        let call = try alice.element("call")
        #expect(waitUntil { (try? source.sendFrame()) != nil && seen.log.all.contains("frame") })
        for _ in 0..<2 {
            try call.setProperty("camera-off", to: true)
            #expect(source.calls.all.last == "stopSend")
            let refusal = sendError { try source.sendFrame() }
            #expect(refusal?.code == .wrongUsage)
            #expect(waitUntil { seen.log.all.last == "off" })
            try call.setProperty("camera-off", to: false)
            #expect(source.calls.all.last == "startSend")
            #expect(waitUntil { (try? source.sendFrame()) != nil && seen.log.all.last == "frame" })
            // The room hears of it a little later than the reader; a change that is undone by then isn't reported.
            #expect(try await eventually { reported.all.last == "alice's video on" })
        }
        let changes = [
            "+alice", "alice's video on", "alice mutes video", "alice's video off", "alice unmutes video",
            "alice's video on", "alice mutes video", "alice's video off", "alice unmutes video", "alice's video on",
        ]
        #expect(try await eventually { reported.all == changes }, "\(reported.all)")
        await alice.stop()
        #expect(
            waitUntil { seen.log.all.filter { $0 != "frame" } == ["on", "off", "on", "off", "on", "off"] },
            "\(seen.log.all)")
        let times = seen.times.all
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(times)")
        #expect(try muted(alice).dropped == 0)
        await bob.stop()
    }

    /// Holds one frame on its way, with the streaming thread.
    private final class Holder: VideoProcessor, Sendable {
        enum State: Int, AtomicRepresentable { case passes, holds, held }
        let state = Atomic<State>(.passes)

        func process(_ frame: inout VideoFrame) throws -> Verdict {
            if state.compareExchange(expected: .holds, desired: .held, ordering: .acquiringAndReleasing).exchanged {
                _ = waitUntil { state.load(ordering: .acquiring) == .passes }
            }
            return .pass
        }
    }

    @Test("SE-8 a frame that is on its way while its camera is turned off and on doesn't turn the stream off again")
    func frameOnItsWay() async throws {
        let alice = try Graph(
            """
            videosource name=camera ! preprocessor name=holder ! call.camera
            mediasession name=call room=on-its-way user=alice
            """)
        let source = RecordingSource()
        try alice.videoSource("camera").attach(source)
        let holder = Holder()
        try alice.preprocessor("holder").attach(holder)
        let (bob, seen) = try viewer("on-its-way")
        let reported = report(bob)
        try await bob.start()
        try await alice.start()
        try source.sendFrame()
        #expect(waitUntil { seen.log.all == ["on", "frame"] })
        let call = try alice.element("call")
        holder.state.store(.holds, ordering: .releasing)
        try source.sendFrame()
        #expect(waitUntil { holder.state.load(ordering: .acquiring) == .held })
        try call.setProperty("camera-off", to: true)
        #expect(waitUntil { seen.log.all.last == "off" })
        try call.setProperty("camera-off", to: false)
        holder.state.store(.passes, ordering: .releasing)
        // The source's own "off" follows the frame.
        #expect(waitUntil { seen.log.all.count == 5 })
        try source.sendFrame()
        #expect(waitUntil { seen.log.all.count == 6 })
        #expect(seen.log.all == ["on", "frame", "off", "on", "frame", "frame"])
        await alice.stop()
        #expect(try await eventually { reported.all.last == "-alice" })
        let changes = ["'s video on", " mutes video", "'s video off", " unmutes video", "'s video on", "'s video off"]
        #expect(reported.all == ["+alice"] + changes.map { "alice\($0)" } + ["-alice"])
        await bob.stop()
    }

    @Test("SE-8 frames of a stock source are left out at the session's pad, and aren't counted as losses")
    func stockSource() async throws {
        let alice = try Graph(
            """
            videotestsrc is-live=true ! video/x-raw,width=16,height=16,framerate=100/1 ! call.camera
            mediasession name=call room=stock-off user=alice  call.preview ! rawdatapipe name=own
            """)
        let own = Viewer(log: Log())
        try alice.rawDataPipe("own").attach(own)
        let (bob, seen) = try viewer("stock-off")
        try await bob.start()
        try await alice.start()
        #expect(waitUntil { seen.log.all.last == "frame" && own.log.all.last == "frame" })
        let call = try alice.element("call")
        try call.setProperty("camera-off", to: true)
        #expect(waitUntil { seen.log.all.last == "off" && own.log.all.last == "off" })
        // Earlier frames have been counted by now.
        #expect(waitUntil { ((try? muted(alice).muted) ?? 0) > 0 })
        let before = try muted(alice)
        #expect(waitUntil { ((try? muted(alice).muted) ?? 0) > before.muted + 10 })
        #expect(try muted(alice).frames == before.frames && muted(alice).dropped == before.dropped)
        #expect(seen.log.all.last == "off" && own.log.all.last == "off")
        try call.setProperty("camera-off", to: false)
        #expect(waitUntil { seen.log.all.last == "frame" && own.log.all.last == "frame" })
        for log in [seen.log, own.log] { #expect(log.all.filter { $0 != "frame" } == ["on", "off", "on"]) }
        for graph in [alice, bob] { await graph.stop() }
    }

    @Test("SE-8 who joins muted doesn't start its sources, and who joins later hears who is muted")
    func joinsMuted() async throws {
        let alice = try Graph(
            """
            videosource name=camera ! queue ! call.camera  virtualmic name=mic ! call.mic
            mediasession name=call room=joins-muted user=alice camera-off=true mic-muted=true
            """)
        let (camera, mic) = (RecordingSource(), RecordingMic())
        try alice.videoSource("camera").attach(camera)
        try alice.virtualMic("mic").attach(mic)
        try await alice.start()
        #expect(camera.calls.all == ["initialize"] && mic.calls.all == ["micInitialize"])
        let (bob, seen) = try viewer("joins-muted")
        let reported = report(bob)
        try await bob.start()
        #expect(
            try await eventually {
                reported.all.first == "+alice"
                    && reported.all.dropFirst().sorted() == ["alice mutes audio", "alice mutes video"]
            }, "\(reported.all)")
        let call = try alice.element("call")
        try call.setProperty("camera-off", to: false)
        try call.setProperty("mic-muted", to: false)
        #expect(camera.calls.all.last == "startSend" && mic.calls.all.last == "micStartSend")
        #expect(waitUntil { (try? camera.sendFrame()) != nil && seen.log.all.contains("frame") })
        #expect(try await eventually { reported.all.contains("alice's video on") })
        #expect(reported.all.contains("alice unmutes audio") && reported.all.contains("alice unmutes video"))
        // The next run begins muted again, and a user who leaves is forgotten.
        try call.setProperty("camera-off", to: true)
        await alice.stop()
        try await alice.start()
        #expect(camera.calls.all.suffix(3) == ["stopSend", "uninitialize", "initialize"], "\(camera.calls.all)")
        let last = ["alice mutes video", "alice's video off", "-alice", "+alice", "alice mutes video"]
        #expect(try await eventually { reported.all.suffix(5) == last }, "\(reported.all)")
        for graph in [alice, bob] { await graph.stop() }
    }

    @Test("SE-8 a muted microphone is silence in the mix, which goes on")
    func silence() async throws {
        struct Ears: VirtualSpeaker {
            let log: Log<String>
            func mixedAudioReceived(_ frame: borrowing AudioFrame) {
                log.add(frame.samples.indices.contains { frame.samples[$0] != 0 } ? "sound" : "silence")
            }
            func statusChanged(isOn: Bool, of stream: SpeakerStream) {
                if stream.user != nil { log.add(isOn ? "on" : "off") }
            }
        }
        let alice = try Graph("virtualmic name=mic ! call.mic  mediasession name=call room=silence user=alice")
        let mic = RecordingMic()
        try alice.virtualMic("mic").attach(mic)
        let bob = try Graph(
            """
            mediasession name=call room=silence user=bob
            call.audio_alice ! ears.user_alice  virtualspeaker name=ears rate=48000
            """)
        let heard = Log<String>()
        try bob.virtualSpeaker("ears").attach(Ears(log: heard))
        try await bob.start()
        try await alice.start()
        let block = [Int16](repeating: 1000, count: 480)
        func isHeard() -> Bool {
            waitUntil {
                try? sendNow(mic.sender, block)
                return heard.all.last == "sound"
            }
        }
        #expect(isHeard())
        try alice.element("call").setProperty("mic-muted", to: true)
        #expect(mic.calls.all.last == "micStopSend")
        #expect(
            waitUntil {
                heard.all.contains("off") && heard.all.suffix(20) == ArraySlice(repeating: "silence", count: 20)
            })
        try alice.element("call").setProperty("mic-muted", to: false)
        heard.removeAll()
        #expect(isHeard())
        #expect(heard.all.contains("on"))
        for graph in [alice, bob] { await graph.stop() }
    }

    @Test("SE-8 a source that also feeds something else goes on, and only the session leaves its frames out")
    func sharedSource() async throws {
        let alice = try Graph(
            """
            videosource name=camera ! tee name=t  t. ! queue ! call.camera  t. ! queue ! rawdatapipe name=file
            mediasession name=call room=shared-source user=alice
            """)
        let (source, file) = (RecordingSource(), Viewer(log: Log()))
        try alice.videoSource("camera").attach(source)
        try alice.rawDataPipe("file").attach(file)
        try await alice.start()
        try alice.element("call").setProperty("camera-off", to: true)
        #expect(
            waitUntil {
                try? source.sendFrame()
                return file.log.all.count > 3 && ((try? muted(alice).muted) ?? 0) > 3
            })
        #expect(source.calls.all.last == "startSend")
        #expect(try muted(alice).frames == 0)
        await alice.stop()
    }

    @Test("SE-8 a device behind a virtual microphone isn't held up while the microphone is muted")
    func device() async throws {
        let alice = try Graph(
            """
            audiotestsrc is-live=true ! audio/x-raw,format=S16LE,rate=48000,channels=1 ! virtualmic name=mic ! call.mic
            mediasession name=call room=muted-device user=alice mic-muted=true
            """)
        try await alice.start()
        func counts() throws -> NodeCounts { try alice.virtualMic("mic").statistics }
        #expect(waitUntil { ((try? counts().muted) ?? 0) > 3 })
        #expect(try counts().frames == 0 && counts().dropped == 0 && counts().refused == 0)
        try alice.element("call").setProperty("mic-muted", to: false)
        #expect(waitUntil { ((try? muted(alice).frames) ?? 0) > 3 })
        try alice.element("call").setProperty("mic-muted", to: true)
        let before = try counts().muted
        #expect(waitUntil { ((try? counts().muted) ?? 0) > before + 3 })
        await alice.stop()
    }

    @Test("SE-8 a source may turn its own camera off and on from inside its calls")
    func reentrant() async throws {
        let elements = Log<Element>()
        let source = RecordingSource(onStart: { _ in
            for element in elements.all {
                elements.removeAll()
                try element.setProperty("camera-off", to: true)
                try element.setProperty("camera-off", to: false)
                try element.setProperty("camera-off", to: true)
            }
        })
        let alice = try Graph("videosource name=camera ! call.camera  mediasession name=call room=inside user=alice")
        try alice.videoSource("camera").attach(source)
        elements.add(try alice.element("call"))
        try await alice.start()
        #expect(source.calls.all == ["initialize", "startSend", "stopSend"])
        try alice.element("call").setProperty("camera-off", to: false)
        #expect(source.calls.all.last == "startSend")
        await alice.stop()
        #expect(source.calls.all.suffix(2) == ["stopSend", "uninitialize"])
    }

    @Test("SE-8 after a mute, a reader gets no encoded frame before the next key frame")
    func encoded() throws {
        let stream = RoomStream(StreamKey(user: "bob", kind: .camera), room: "r")
        let reader = StreamReader(bound: 2)
        reader.play()
        stream.begin()
        stream.setCaps(try #require(Caps("video/x-vp8,width=16,height=16")))
        #expect(stream.setStatus(true))
        stream.add(reader)
        func send(_ size: Int, isPredicted: Bool = true) -> Bool {
            guard let buffer = Buffer(size: size) else { return false }
            if isPredicted { buffer.access.contentFlags = .max }
            return stream.send(buffer.access)
        }
        var sizes: [Int] = []
        func drain() -> [Int] {
            while true {
                switch reader.next(timeoutNanoseconds: 0) {
                case .buffer(let frame): sizes.append(frame.buffer.take().access.size)
                case .signal: continue
                default:
                    defer { sizes = [] }
                    return sizes
                }
            }
        }
        #expect(send(1, isPredicted: false) && send(2))
        #expect(drain() == [1, 2])
        stream.setMuted(true)
        #expect(!send(3) && stream.setStatus(true) == false)
        stream.setMuted(false)
        // Until the stream is on again, readers wouldn't know that frames are to come.
        #expect(!send(4))
        #expect(stream.setStatus(true))
        #expect(send(5) && send(6, isPredicted: false) && send(7))
        #expect(drain() == [6, 7])
    }
}
