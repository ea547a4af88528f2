import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// What streams between processes say of themselves.
@Suite struct RoomFormatTests {
    init() throws { try Nodes.register() }

    @Test("SE-3 what an encoded buffer says goes to another process: what needs which, when to decode, and its headers")
    func encoded() throws {
        let (first, second) = (RoomLinkTests.Other(), RoomLinkTests.Other())
        let (early, late) = try RoomLinkTests.links(#function, first, second)
        let reader = StreamReader(bound: 8)
        reader.play()
        second.bobs.add(reader)
        late.setDemand(second.bobs.demand, for: second.bobs.key)
        let caps = "video/x-vp8, streamheader=(buffer)< 4f565038 >, width=(int)64, height=(int)48"
        first.bobs.begin()
        first.bobs.setCaps(try #require(Caps(caps)))
        first.bobs.setTiming(.machine(latency: .zero))
        for isKeyframe in [true, false] {
            let isHeard = waitUntil {
                guard let buffer = Buffer(size: 100) else { return false }
                buffer.access.presentationTimestamp = .seconds(5)
                buffer.access.decodingTimestamp = .seconds(4)
                if !isKeyframe { buffer.access.contentFlags = .max }
                first.bobs.send(buffer.access)
                guard let heard = RoomLinkTests.take(reader), heard.access.isKeyframe == isKeyframe else {
                    return false
                }
                let (flags, expected) = (heard.access.contentFlags, buffer.access.contentFlags)
                let (moment, decoding) = (heard.access.presentationTimestamp, heard.access.decodingTimestamp)
                #expect(flags == expected && moment == .seconds(5) && decoding == .seconds(4))
                return true
            }
            #expect(isHeard)
        }
        let told = second.bobs.format.map { "\($0.caps)" }
        #expect(told == caps)
        for link in [late, early] { link.stop() }
    }

    @Test("SE-3 a user whose stream can't go to other processes is told so, once")
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
        let other = RoomLinkTests.Other()
        let link = try RoomLink(room: room, delegate: other)
        link.start()
        _ = try link.join("alice")
        #expect(waitUntil { other.users.all == ["bob"] })
        let sent = Room.named(room, over: .processes).stream(other.bobs.key)
        for _ in 0..<3 {
            let reader = StreamReader(bound: 2)
            other.bobs.add(reader)
            link.setDemand(other.bobs.demand, for: other.bobs.key)
            #expect(try await eventually { sent.demand != nil && !warnings.all.isEmpty })
            other.bobs.remove(reader)
            link.setDemand(other.bobs.demand, for: other.bobs.key)
            #expect(try await eventually { sent.demand == nil })
        }
        link.stop()
        await graph.stop()
        await listener.value
        #expect(warnings.all.count == 1 && warnings.all[0].contains("isn't sent to other processes"), "\(warnings.all)")
    }

    @Test("SE-4 a stream that has times only with a format that downstream rejects is shown once it has another")
    func rejectedFormat() async throws {
        let room = #function
        let other = try OtherProcess(room: room)
        let graph = try Graph(
            "mediasession name=call room=\"\(room)\" user=alice  call.video_bob ! rawdatapipe name=pipe")
        let frames = Log<Int>()
        try graph.rawDataPipe("pipe").receive { frames.add($0.width) }
        let key = StreamKey(user: "bob", kind: .camera)
        try await graph.start()
        #expect(try await other.greet(["bob"]))
        #expect(try await other.isRead(key))
        let caps = "video/x-raw,format=I420,width=16,height=16,framerate=30/1"
        other.say(.caps(key, try #require(Caps(caps).flatMap(SharedCaps.init))))
        // The pipe's queries promise to take this; it rejects the caps.
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
        other.leave()
    }
}
