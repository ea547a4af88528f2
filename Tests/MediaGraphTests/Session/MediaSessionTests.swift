import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests sessions in graphs: users of one description, and of several graphs.
@Suite struct MediaSessionTests {
    init() throws { try Nodes.register() }

    @Test(
        "SE-1 a requested pad subscribes to its user before they join, and after they come back"
    )
    func leavingAndComingBack() async throws {
        let room = #function
        let reader = try Graph(
            "mediasession name=call room=\"\(room)\" user=alice  call.video_bob ! rawdatapipe name=bob")
        let log = Log<String>()
        let times = Log<ClockTime>()
        try reader.rawDataPipe("bob").attach(StreamRecorder(log: log) { times.add($0.runningTime!) })
        try await reader.start()
        for round in 1...3 {
            let (bob, source) = try publisherGraph("bob", room: "\"\(room)\"")
            try await bob.start()
            // A stop drops frames that are still on their way, so the test waits for each frame. The first "on" is no
            // frame.
            for frame in 1...3 {
                try source.sendFrame()
                #expect(waitUntil { log.all.count == (round - 1) * 5 + 1 + frame })
            }
            await bob.stop()
            #expect(waitUntil { log.all.count == round * 5 })
        }
        let once = ["on", "frame", "frame", "frame", "off"]
        #expect(log.all == once + once + once)
        #expect(times.all == times.all.sorted())
        await reader.stop()
    }

    @Test(
        "SE-3 each reader gets the memory that the publisher sent, with the same time in each graph"
    )
    func byReference() async throws {
        let room = "\"\(#function)\""
        let addresses = Log<UInt>()
        let moments = Log<UInt64>()
        var readers: [Graph] = []
        for user in ["alice", "carol"] {
            let graph = try Graph(
                """
                mediasession name=call room=\(room) user=\(user)
                call.video_bob ! tee name=t ! queue ! rawdatapipe name=one  t. ! queue ! rawdatapipe name=two
                """)
            for name in ["one", "two"] {
                try graph.rawDataPipe(name).receive { [weak graph] frame in
                    try addresses.add(
                        frame.plane(.y).bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) })
                    let base = try graph?.element("call").baseTime
                    moments.add(frame.runningTime!.nanoseconds + (base?.nanoseconds ?? 0))
                }
            }
            try await graph.start()
            readers.append(graph)
        }
        let (bob, source) = try publisherGraph("bob", room: room)
        try await bob.start()
        let sender = source.sender
        var frame = try sender.makeFrame(
            FrameDescription(width: 16, height: 16, framesPerSecond: Fraction(30, 1), timestamp: sender.runningTime))
        let sent = try frame.withFrame { frame in
            try frame.plane(.y).bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        }
        let moment = frame.timestamp!.nanoseconds + (try bob.element("call").baseTime!.nanoseconds)
        try send(frame, with: sender)
        #expect(waitUntil { moments.all.count == 4 })
        #expect(addresses.all == [sent, sent, sent, sent])
        #expect(moments.all == [moment, moment, moment, moment])
        for graph in readers + [bob] { await graph.stop() }
    }

    private func send(_ frame: consuming OutgoingFrame, with sender: VideoSender) throws { try sender.send(frame) }

    @Test("SE-1 a second user with the same name is refused, and may join after the first has left")
    func sameName() async throws {
        let room = "\"\(#function)\""
        let (first, _) = try publisherGraph("bob", room: room)
        let (second, _) = try publisherGraph("bob", room: room)
        try await first.start()
        let error = await #expect(throws: GraphError.self) { try await second.start() }
        #expect("\(error!)".contains("is already called \"bob\""), "\(error!)")
        await first.stop()
        try await second.start()
        await second.stop()
    }

    @Test("SE-1 users and streams that come and go are reported on the bus")
    func messages() async throws {
        let room = "\"\(#function)\""
        let reader = try Graph("mediasession name=call room=\(room) user=alice")
        let events = reader.events
        try await reader.start()
        let (bob, source) = try publisherGraph("bob", room: room)
        try await bob.start()
        try source.sendFrame()
        #expect(waitUntil { NodeCounts(try! bob.element("call"))!.frames == 1 })
        await bob.stop()
        await reader.stop()
        var reports: [String] = []
        for await event in events {
            switch event {
            case .userJoined(let node, let user, _): reports.append("\(node) +\(user)")
            case .userLeft(let node, let user): reports.append("\(node) -\(user)")
            case .userStream(let node, let user, let kind, let isOn):
                reports.append("\(node) \(user)'s \(kind) \(isOn ? "on" : "off")")
            default: break
            }
        }
        #expect(reports == ["call +bob", "call bob's video on", "call bob's video off", "call -bob"])
    }

    @Test("SE-1 a pad can be requested and released repeatedly while the session runs")
    func padsWhileRunning() async throws {
        let room = "\"\(#function)\""
        let (bob, source) = try publisherGraph("bob", room: room)
        try await bob.start()
        let pipeline = try Pipeline(parsing: "mediasession name=call room=\(room) user=alice")
        let session = try #require(pipeline.element(named: "call"))
        pipeline.setState(.playing)
        for _ in 0..<20 {
            let pad = try #require(session.requestPad("video_bob"))
            let pipe = try #require(Element(factory: "rawdatapipe"))
            let log = Log<String>()
            try NodeVTable.attach(StreamRecorder(log: log), to: pipe)
            pipeline.add(pipe)
            pipe.syncState()
            #expect(pad.link(to: try #require(pipe.staticPad("sink"))))
            #expect(
                waitUntil {
                    try? source.sendFrame()
                    return log.all.count > 2
                })
            session.releasePad(pad)
            pipeline.stopAndRemove(pipe)
        }
        pipeline.setState(.null)
        await bob.stop()
    }

    @Test(
        "SE-1 a pad that is linked later drops frames until then, and then delivers a complete stream")
    func linkedLater() async throws {
        let room = "\"\(#function)\""
        let (bob, source) = try publisherGraph("bob", room: room)
        try await bob.start()
        let pipeline = try Pipeline(parsing: "mediasession name=call room=\(room) user=alice")
        let failures = Log<String>()
        pipeline.onMessage { if case .error(let report) = $0.kind { failures.add("\(report)") } }
        pipeline.setState(.playing)
        let pad = try #require(pipeline.element(named: "call")?.requestPad("video_bob"))
        for _ in 0..<5 { try source.sendFrame() }
        let pipe = try #require(Element(factory: "rawdatapipe"))
        let log = Log<String>()
        try NodeVTable.attach(StreamRecorder(log: log), to: pipe)
        pipeline.add(pipe)
        pipe.syncState()
        #expect(pad.link(to: try #require(pipe.staticPad("sink"))))
        #expect(
            waitUntil {
                try? source.sendFrame()
                return log.all.count > 2
            })
        #expect(log.all.prefix(2) == ["on", "frame"])
        #expect(failures.all == [])
        pipeline.setState(.null)
        await bob.stop()
    }

    @Test("SE-1 a file is sent into a session at its own frame rate")
    func fileAtItsPace() async throws {
        let room = "\"\(#function)\""
        let sink = try Graph("videotestsrc num-buffers=5 ! call.camera  mediasession name=call room=\(room) user=bob")
        try await sink.start()
        let synchronized = try #require(sink.pipeline.allElements.first { $0.factoryName == "appsink" })
        #expect(waitUntil { (try? synchronized.property("sync", as: Bool.self)) == true })
        await sink.stop()
        let live = try Graph("videotestsrc is-live=true ! call.camera  mediasession name=call room=\(room) user=bob")
        try await live.start()
        let free = try #require(live.pipeline.allElements.first { $0.factoryName == "appsink" })
        #expect(try free.property("sync", as: Bool.self) == false)
        await live.stop()
    }

    @Test("SE-2 inputs must be linked before the session is joined")
    func lateInput() throws {
        let pipeline = try Pipeline(parsing: "mediasession name=call room=\"\(#function)\" user=alice")
        let session = try #require(pipeline.element(named: "call"))
        pipeline.setState(.playing)
        #expect(session.requestPad("camera") == nil)
        #expect(throws: PropertyError.self) { try session.setProperty("user", to: "bob") }
        pipeline.setState(.null)
        #expect(session.requestPad("camera") != nil)
    }

    @Test("EL-1 a session that sends and reads survives fifty rounds of state changes")
    func states() throws {
        let pipeline = try Pipeline(
            parsing: """
                mediasession name=call room="\(#function)" user=alice
                videosource handler=counter ! call.camera  call.preview ! rawdatapipe  call.video_bob ! rawdatapipe
                """)
        for round in 0..<50 {
            let states: [State] = [.playing, .paused, .ready, .playing, .null].shuffled()
            for state in states {
                #expect(pipeline.setState(state) != .failure)
                #expect(pipeline.waitForState(timeout: .seconds(60)).state == state, "round \(round): \(states)")
            }
        }
        pipeline.setState(.null)
    }
}
