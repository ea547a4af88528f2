import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests a user's stream when the user's own graph changes.
@Suite struct PublisherChangesTests {
    init() throws { try Nodes.register() }

    @Test("SE-1 a changed latency behind the camera is sent to the stream's readers")
    func latencyChanges() throws {
        let room = #function
        let bob = try Pipeline(
            parsing: """
                mediasession name=call room="\(room)" user=bob
                appsrc name=s is-live=true format=time do-timestamp=true
                    caps=video/x-raw,format=I420,width=16,height=16,framerate=30/1 ! call.camera
                """)
        let source = try #require(bob.element(named: "s").flatMap(AppSource.init(wrapping:)))
        let meeting = Room.named(room, over: .roomLink)
        let stream = meeting.stream(StreamKey(user: "bob", kind: .camera))
        let reader = StreamReader(bound: 2)
        reader.play()
        stream.add(reader)
        bob.setState(.playing)
        let elsewhere = try Pipeline(parsing: "fakesrc ! fakesink name=out")
        let other = try #require(elsewhere.element(named: "out"))
        for latency in [0, 200, 80] {
            try source.setProperty("min-latency", to: Int64(latency) * 1_000_000)
            // Changes of readers' latencies aren't forwarded, and those of other graphs don't concern bob.
            StreamReader.latencyChanges.increment(around: other)
            bob.recalculateLatency()
            let isReported = waitUntil {
                if let buffer = Buffer(filledWith: 9, count: 16 * 16 * 3 / 2) { source.push(buffer) }
                guard case .signal(.timing(let timing)) = reader.next(timeoutNanoseconds: 1_000_000) else {
                    return false
                }
                return timing.latency == .milliseconds(UInt64(latency))
            }
            #expect(isReported, "\(latency) ms")
        }
        bob.setState(.null)
        #expect(meeting.users.isEmpty)
    }

    @Test("SE-1 a status that arrives with a refused format is reported once the format is accepted")
    func statusAfterRefusal() async throws {
        let room = #function
        let meeting = Room.named(room, over: .roomLink)
        let stream = meeting.stream(StreamKey(user: "bob", kind: .camera))
        let graph = try Graph(
            "mediasession name=call room=\"\(room)\" user=alice  call.video_bob ! rawdatapipe name=pipe")
        let calls = Log<String>()
        try graph.rawDataPipe("pipe").attach(Consumer(calls: calls))
        try await graph.start()
        stream.begin()
        stream.setCaps(try #require(Caps("video/x-vp8,width=16,height=16,framerate=30/1")))
        stream.setTiming(.machine(latency: .zero))
        _ = stream.setStatus(true)
        #expect(waitUntil { stream.demand != nil })
        stream.setCaps(try #require(Caps("video/x-raw,format=I420,width=16,height=16,framerate=30/1")))
        stream.setTiming(.machine(latency: .zero))
        #expect(
            waitUntil {
                if let buffer = Buffer(filledWith: 9, count: 16 * 16 * 3 / 2) {
                    buffer.access.presentationTimestamp = Clock.system.time
                    stream.send(buffer.access)
                }
                return calls.all.count > 2
            })
        #expect(calls.all.first == "on" && calls.all.count { $0 == "on" } == 1, "\(calls.all)")
        _ = stream.setStatus(false)
        #expect(waitUntil { calls.all.last == "off" })
        await graph.stop()
    }

    private struct Consumer: VideoConsumer {
        let calls: Log<String>
        func statusChanged(isOn: Bool) { calls.add(isOn ? "on" : "off") }
        func receive(_ frame: borrowing VideoFrame) { calls.add("frame") }
    }

    @Test("SE-4 users who send each other's streams back don't raise the latency endlessly")
    func sendingBack() async throws {
        let room = #function
        func user(_ name: String, _ other: String) throws -> Graph {
            try Graph(
                """
                videotestsrc is-live=true ! video/x-raw,width=64,height=48,framerate=30/1 ! mix.
                eyes.video_\(other) ! mix.
                compositor name=mix ! video/x-raw,width=64,height=48,framerate=30/1 ! call.camera
                mediasession name=call room="\(room)" user=\(name)
                mediasession name=eyes room="\(room)" user=\(name)-eyes
                """)
        }
        let graphs = [try user("alice", "bob"), try user("bob", "alice")]
        for graph in graphs { try await graph.start() }
        let frames = Log<Bool>()
        try graphs[0].element("eyes").staticPad("video_bob")?.observeBuffers { _ in frames.add(true) }
        #expect(waitUntil { frames.all.count >= 90 })
        for graph in graphs {
            let latency = try #require(try graph.element("call").staticPad("camera")?.upstreamLatency()).minimum
            #expect(latency < .milliseconds(500), "\(latency)")
        }
        for graph in graphs { await graph.stop() }
    }

    @Test("SE-1 a publisher that returns from READY goes on with the same caps for old and new readers")
    func playsOn() async throws {
        let room = "\"\(#function)\""
        let bob = try Pipeline(
            parsing: """
                mediasession name=call room=\(room) user=bob
                appsrc name=s is-live=true format=time do-timestamp=true
                    caps=video/x-raw,format=I420,width=16,height=16,framerate=30/1 ! call.camera
                """)
        let source = try #require(bob.element(named: "s").flatMap(AppSource.init(wrapping:)))
        let (old, new) = (Log<Bool>(), Log<Bool>())
        func reader(_ user: String, _ log: Log<Bool>) throws -> Graph {
            let graph = try Graph(
                "mediasession name=call room=\(room) user=\(user)  call.video_bob ! rawdatapipe name=pipe")
            try graph.rawDataPipe("pipe").receive { _ in log.add(true) }
            return graph
        }
        let staying = try reader("alice", old)
        try await staying.start()
        func sends(until condition: () -> Bool) -> Bool {
            waitUntil {
                if let buffer = Buffer(filledWith: 9, count: 16 * 16 * 3 / 2) { source.push(buffer) }
                return condition()
            }
        }
        bob.setState(.playing)
        #expect(sends { !old.all.isEmpty })
        bob.setState(.ready)
        let before = old.all.count
        let coming = try reader("carol", new)
        try await coming.start()
        bob.setState(.playing)
        #expect(sends { !new.all.isEmpty && old.all.count > before })
        for graph in [staying, coming] { await graph.stop() }
        bob.setState(.null)
    }
}
