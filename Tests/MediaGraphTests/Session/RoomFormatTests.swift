import Foundation
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests formats and metadata of streams between processes, and audio that a reader can't convert.
@Suite struct RoomFormatTests {
    init() throws { try Nodes.register() }

    @Test("SE-3 an encoded buffer's flags, timestamps and headers are sent to another process")
    func encoded() throws {
        let (first, second) = (OtherRoom(), OtherRoom())
        let (early, late) = try OtherRoom.links(#function, first, second)
        let reader = StreamReader(bound: 8)
        reader.play()
        second.bobs.add(reader)
        late.setDemand(second.bobs.demand.map { StreamDemand(resolution: $0) }, for: second.bobs.key)
        let caps = "video/x-vp8, streamheader=(buffer)< 4f565038 >, width=(int)64, height=(int)48"
        first.bobs.begin()
        first.bobs.setCaps(try #require(Caps(caps)))
        first.bobs.setTiming(.machine(latency: .zero))
        for isKeyframe in [true, false] {
            let isReceived = waitUntil {
                guard let buffer = Buffer(size: 100) else { return false }
                buffer.access.presentationTimestamp = .seconds(5)
                buffer.access.decodingTimestamp = .seconds(4)
                if !isKeyframe { buffer.access.contentFlags = .max }
                first.bobs.send(buffer.access)
                guard let received = reader.takeBuffer(), received.access.isKeyframe == isKeyframe else {
                    return false
                }
                let (flags, expected) = (received.access.contentFlags, buffer.access.contentFlags)
                let (moment, decoding) = (received.access.presentationTimestamp, received.access.decodingTimestamp)
                #expect(flags == expected && moment == .seconds(5) && decoding == .seconds(4))
                return true
            }
            #expect(isReceived)
        }
        let receivedCaps = second.bobs.format.map { "\($0.caps)" }
        #expect(receivedCaps == caps)
        for link in [late, early] { link.stop() }
    }

    @Test("SE-3 a user whose stream can't be sent to other processes gets one warning")
    func unsendable() async throws {
        let room = #function
        let graph = try Graph(
            """
            mediasession name=call room="\(room)" user=bob
            videotestsrc is-live=true ! video/x-raw,format=I420,width=64,height=48,framerate=30/1 !
            capssetter caps="video/x-raw,Strange=(string)x" ! call.camera
            """)
        let warnings = Log<String>()
        let events = graph.events
        let listener = Task {
            for await event in events { if case .warning(let problem) = event { warnings.add("\(problem)") } }
        }
        try await graph.start()
        let other = OtherRoom()
        let link = try RoomLink.started(room, other)
        try link.claimed("alice")
        #expect(waitUntil { other.users.all == ["bob"] })
        let sent = Room.named(room, over: .roomLink).stream(other.bobs.key)
        for _ in 0..<3 {
            let reader = StreamReader(bound: 2)
            other.bobs.add(reader)
            link.setDemand(other.bobs.demand.map { StreamDemand(resolution: $0) }, for: other.bobs.key)
            #expect(try await eventually { sent.demand != nil && !warnings.all.isEmpty })
            other.bobs.remove(reader)
            link.setDemand(other.bobs.demand.map { StreamDemand(resolution: $0) }, for: other.bobs.key)
            #expect(try await eventually { sent.demand == nil })
        }
        link.stop()
        await graph.stop()
        await listener.value
        #expect(warnings.all.count == 1 && warnings.all[0].contains("isn't sent to other processes"), "\(warnings.all)")
    }

    @Test("SE-4 a stream with an incomplete format doesn't end its reader's graph, and is shown once complete")
    func rejectedFormat() async throws {
        let room = #function
        let other = try OtherProcess(room: room)
        let graph = try Graph(
            "mediasession name=call room=\"\(room)\" user=alice  call.video_bob ! rawdatapipe name=pipe")
        let frames = Log<Int>()
        try graph.rawDataPipe("pipe").receive { frames.add($0.width) }
        let key = StreamKey(user: "bob", kind: .camera)
        let ends = Log<String>()
        let events = graph.events
        let listener = Task { for await event in events { if case .ended(let end) = event { ends.add("\(end)") } } }
        try await graph.start()
        #expect(try await other.greet(["bob"]))
        #expect(try await other.isRead(key))
        let caps = "video/x-raw,format=I420,width=16,height=16,framerate=30/1"
        other.send(.caps(key, try #require(Caps(caps).flatMap(SharedCaps.init))))
        other.begin(key, "video/x-raw,format=NV12,width=1,height=1")
        let call = try graph.element("call")
        #expect(
            try await eventually {
                other.send(key, length: 384)
                return NodeCounts(call)!.dropped >= 3
            })
        #expect(frames.all == [])
        other.begin(key, caps)
        #expect(
            try await eventually {
                other.send(key, length: 384)
                return frames.all.count >= 3
            })
        #expect(Set(frames.all) == [16])
        await graph.stop()
        await listener.value
        #expect(ends.all == ["stopped"])
        other.leave()
    }

    @Test("SE-4 a sink that syncs to the clock goes on after its converter has refused a format")
    func refusedWhileSilent() async throws {
        let room = #function
        let other = try OtherProcess(room: room)
        let graph = try Graph(
            """
            mediasession name=call room="\(room)" user=alice
            call.audio_bob ! audioconvert ! audio/x-raw,channels=2 ! fakesink name=ear sync=true
            """)
        let blocks = Log<Bool>()
        try graph.element("ear").staticPad("sink")?.observeBuffers { _ in blocks.add(true) }
        let key = StreamKey(user: "bob", kind: .microphone)
        try await graph.start()
        #expect(try await other.greet(["bob"]))
        #expect(try await other.isRead(key))
        let caps = "audio/x-raw,format=S16LE,rate=48000,layout=interleaved,channels="
        other.begin(key, caps + "8,channel-mask=(bitmask)0x0")
        // Long enough for the session to send GAP events, which the sink must not get before the segment.
        try await Task.sleep(for: .milliseconds(2500))
        other.begin(key, caps + "1")
        #expect(
            try await eventually {
                other.send(key, length: 960)
                return blocks.all.count >= 3
            })
        await graph.stop()
        other.leave()
    }

    @Test(
        "SE-4 audio that can't be converted is dropped with one warning, and other audio goes on",
        arguments: ["virtualspeaker name=ear", "audioconvert ! audio/x-raw,channels=2 ! appsink name=ear sync=false"])
    func unconvertible(reader: String) async throws {
        let room = "\(#function) \(reader.prefix(8))"
        let graph = try Graph(
            """
            mediasession name=call room="\(room)" user=alice
            call.audio_bob ! \(reader)
            call.audio_carol ! virtualspeaker name=other
            mediasession name=bob room="\(room)"
            audiotestsrc is-live=true ! audio/x-raw,channels=8,channel-mask=(bitmask)0x0,rate=48000 ! bob.mic
            mediasession name=carol room="\(room)"  audiotestsrc is-live=true ! carol.mic
            """)
        let warnings = Log<String>()
        let events = graph.events
        let listening = Task {
            for await event in events { if case .warning(let problem) = event { warnings.add("\(problem)") } }
        }
        let blocks = Atomic<Int>(0)
        try graph.virtualSpeaker("other").receive { _, stream in
            if case .oneWay = stream { blocks.add(1, ordering: .relaxed) }
        }
        try await graph.start()
        #expect(try await eventually { !warnings.all.isEmpty })
        let before = blocks.load(ordering: .relaxed)
        #expect(try await eventually { blocks.load(ordering: .relaxed) > before + 20 })
        let ofBob = warnings.all.filter { $0.contains("8 channels have no positions") && $0.contains("bob") }
        #expect(ofBob.count == 1, "\(warnings.all)")
        await graph.stop()
        await listening.value
    }

    @Test("SE-4 audio without channel positions reaches a reader that doesn't convert it")
    func unpositioned() async throws {
        let folder = try TemporaryFolder()
        let graph = try Graph(
            """
            mediasession name=call room="\(#function)" user=alice
            call.audio_bob ! wavenc ! filesink location="\(folder.file("a.wav"))"
            mediasession name=bob room="\(#function)"
            audiotestsrc is-live=true ! audio/x-raw,channels=8,channel-mask=(bitmask)0x0,rate=48000 ! bob.mic
            """)
        try await graph.start()
        #expect(waitUntil { (try? folder.read("a.wav").count) ?? 0 > 100_000 })
        await graph.stop()
    }
}
