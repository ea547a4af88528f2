import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Sessions in graphs: users of one description and of several graphs.
@Suite struct MediaSessionTests {
    init() throws { try Nodes.register() }

    /// One frame a call, at the graph's own time.
    private static func send(_ source: RecordingSource, seed: Int = 0) throws {
        let sender = source.sender
        try sendNow(
            sender, patternedFrame(width: 16, height: 16, seed: seed),
            FrameDescription(width: 16, height: 16, framesPerSecond: Fraction(30, 1), timestamp: sender.runningTime))
    }

    private func publisher(_ user: String, room: String) throws -> (Graph, RecordingSource) {
        let graph = try Graph("videosource name=camera ! call.camera  mediasession name=call room=\(room) user=\(user)")
        let source = RecordingSource()
        try graph.videoSource("camera").attach(source)
        return (graph, source)
    }

    private struct Recorder: VideoConsumer {
        let log: Log<String>
        var body: @Sendable (borrowing VideoFrame) -> Void = { _ in }
        func statusChanged(isOn: Bool) { log.add(isOn ? "on" : "off") }
        func receive(_ frame: borrowing VideoFrame) {
            log.add("frame")
            body(frame)
        }
    }

    @Test(
        "SE-1 asking for a pad is subscribing: before the user is there, through leaving and coming back, in one graph that goes on"
    )
    func leavingAndComingBack() async throws {
        let room = #function
        let reader = try Graph(
            "mediasession name=call room=\"\(room)\" user=alice  call.video_bob ! rawdatapipe name=bob")
        let log = Log<String>()
        let times = Log<ClockTime>()
        try reader.rawDataPipe("bob").attach(Recorder(log: log) { times.add($0.runningTime!) })
        try await reader.start()
        for round in 1...3 {
            let (bob, source) = try publisher("bob", room: "\"\(room)\"")
            try await bob.start()
            // A stop drops what is still on its way: it comes after the last frame has arrived, and "on" is no frame.
            for frame in 1...3 {
                try Self.send(source)
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
        "SE-3 every reader gets the very memory that the publisher sent, in its graph and in others; one moment has one time"
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
        let (bob, source) = try publisher("bob", room: room)
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

    @Test("VS-1 a user who isn't there holds no other sink of the graph, and is shown when he comes")
    func holdsNobody() async throws {
        let graph = try Graph(
            """
            mediasession name=call room="\(#function)" user=alice
            call.video_bob ! videoconvert ! fakesink  call.video_carol ! videoconvert ! fakesink name=carol
            videotestsrc is-live=true ! fakesink name=other
            """)
        let frames = Log<ClockTime>()
        try graph.element("other").staticPad("sink")?.observeBuffers { frames.add($0.presentationTimestamp ?? .zero) }
        try await graph.start()
        #expect(waitUntil { frames.all.count >= 10 })
        let seen = Log<ClockTime>()
        try graph.element("carol").staticPad("sink")?.observeBuffers { seen.add($0.presentationTimestamp ?? .zero) }
        let (carol, source) = try publisher("carol", room: "\"\(#function)\"")
        try await carol.start()
        #expect(
            waitUntil {
                // One that is sent before the session reads is lost.
                try? Self.send(source)
                return !seen.all.isEmpty
            })
        guard case .endOfStream = await graph.finish() else {
            Issue.record("it didn't end by itself")
            return
        }
        await carol.stop()
    }

    @Test("SE-4 a reader that is stuck costs the others no frame, nor the sender its pace")
    func stuckReader() async throws {
        let room = "\"\(#function)\""
        let isHeld = BlockingMonitor(true)
        let stuck = try Graph("mediasession name=call room=\(room) user=alice  call.video_bob ! rawdatapipe name=bob")
        try stuck.rawDataPipe("bob").receive { _ in _ = isHeld.wait { $0 ? nil : true } }
        let reader = try Graph("mediasession name=call room=\(room) user=carol  call.video_bob ! rawdatapipe name=bob")
        let log = Log<String>()
        try reader.rawDataPipe("bob").attach(Recorder(log: log))
        let (bob, source) = try publisher("bob", room: room)
        for graph in [stuck, reader, bob] { try await graph.start() }
        for count in 1...50 {
            try Self.send(source)
            #expect(waitUntil { log.all.count == count + 1 })
        }
        #expect(try reader.rawDataPipe("bob").statistics.dropped == 0)
        #expect(try reader.counts("call").dropped == 0)
        #expect(try bob.counts("call").frames == 50)
        // What the stuck one hasn't got is lost to it at its session's edge or in its pipe; a few wait in queues.
        let lost = try stuck.counts("call").dropped + stuck.rawDataPipe("bob").statistics.dropped
        #expect((30...50).contains(lost))
        isHeld.withLock { $0 = false }
        for graph in [stuck, reader, bob] { await graph.stop() }
    }

    @Test(
        "SE-4 frames from before a reader's own beginning are lost to it and counted, and a compositor behind it goes on",
        .timeLimit(.minutes(1)))
    func fromBeforeTheBeginning() async throws {
        let room = "\"\(#function)\""
        let (bob, source) = try publisher("bob", room: room)
        try await bob.start()
        let sender = source.sender
        let before = try #require(sender.runningTime)
        let reader = try Graph(
            """
            mediasession name=call room=\(room) user=alice
            call.video_bob ! tee name=t ! queue ! rawdatapipe name=bob
            t. ! queue ! compositor ! rawdatapipe name=picture
            """)
        let (log, picture) = (Log<String>(), Log<String>())
        try reader.rawDataPipe("bob").attach(Recorder(log: log))
        try reader.rawDataPipe("picture").attach(Recorder(log: picture))
        try await reader.start()
        // A reader that isn't PLAYING yet has nothing to lose.
        var sent: UInt64 = 0
        let isLost = waitUntil {
            let timestamp = ClockTime(nanoseconds: before.nanoseconds + sent)
            sent += 1
            try? sendNow(
                sender, patternedFrame(width: 16, height: 16, seed: 0),
                FrameDescription(width: 16, height: 16, framesPerSecond: Fraction(30, 1), timestamp: timestamp))
            return (try? reader.counts("call").dropped) ?? 0 >= 2
        }
        #expect(isLost && log.all.filter { $0 == "frame" }.isEmpty)
        #expect(
            waitUntil {
                try? Self.send(source)
                return log.all.count > 2 && picture.all.count > 2
            })
        await reader.stop()
        await bob.stop()
    }

    /// As they come.
    private func warnings(of graph: Graph) -> Log<String> {
        let log = Log<String>()
        Task { [events = graph.events] in
            for await event in events { if case .warning(let problem) = event { log.add("\(problem)") } }
        }
        return log
    }

    @Test(
        "SE-4 a pipe that can't take a user's stream is warned of by name; its graph and the user's other readers go on"
    )
    func unsuitableReader() async throws {
        let room = "\"\(#function)\""
        let reader = try Graph(
            """
            mediasession name=call room=\(room) user=alice
            call.video_bob ! video/x-raw,format=GRAY8 ! matroskamux ! fakesink  call.video_carol ! rawdatapipe name=carol
            """)
        let log = Log<String>()
        try reader.rawDataPipe("carol").attach(Recorder(log: log))
        let warnings = warnings(of: reader)
        try await reader.start()
        let (bob, bobs) = try publisher("bob", room: room)
        let (carol, carols) = try publisher("carol", room: room)
        try await bob.start()
        try await carol.start()
        for count in 1...3 {
            try Self.send(bobs)
            try Self.send(carols)
            #expect(waitUntil { log.all.count == count + 1 })
        }
        let isWarned = try await eventually {
            warnings.all.contains {
                $0.contains("call.video_bob can't deliver bob's stream: bob sends format=")
                    && $0.hasSuffix(
                        "the linked element takes format=GRAY8. To fix it, insert videoconvert ! videoscale between them"
                    )
            }
        }
        #expect(isWarned, "\(warnings.all)")
        for graph in [reader, bob, carol] { await graph.stop() }
    }

    @Test("SE-4 another user's encoded stream costs a pipe that takes raw video that stream alone, and is a warning")
    func encodedForRaw() async throws {
        let room = "\"\(#function)\""
        let reader = try Graph(
            """
            mediasession name=call room=\(room) user=alice
            call.video_bob ! rawdatapipe handler=count  call.video_carol ! rawdatapipe name=carol
            """)
        let log = Log<String>()
        try reader.rawDataPipe("carol").attach(Recorder(log: log))
        let warnings = warnings(of: reader)
        try await reader.start()
        let bob = try Graph(
            """
            videotestsrc is-live=true ! video/x-raw,width=64,height=48 ! vp8enc deadline=1 ! call.camera
            mediasession name=call room=\(room) user=bob
            """)
        try await bob.start()
        #expect(waitUntil { NodeCounts(try! reader.element("call"))!.dropped > 3 })
        let (carol, carols) = try publisher("carol", room: room)
        try await carol.start()
        for count in 1...3 {
            try Self.send(carols)
            #expect(waitUntil { log.all.count == count + 1 })
        }
        let expected =
            "call.video_bob can't deliver bob's stream: bob sends video/x-vp8, the linked element takes video/x-raw. To fix it, insert decodebin between them"
        let isWarned = try await eventually { warnings.all.contains { $0.contains(expected) } }
        #expect(isWarned, "\(warnings.all)")
        for graph in [reader, bob, carol] { await graph.stop() }
        #expect(warnings.all.count { $0.contains(expected) } == 1, "\(warnings.all)")
    }

    @Test("SE-1 a second user of one name is refused with the name, and may come when the first has gone")
    func sameName() async throws {
        let room = "\"\(#function)\""
        let (first, _) = try publisher("bob", room: room)
        let (second, _) = try publisher("bob", room: room)
        try await first.start()
        let error = await #expect(throws: GraphError.self) { try await second.start() }
        #expect("\(error!)".contains("is already called \"bob\""), "\(error!)")
        await first.stop()
        try await second.start()
        await second.stop()
    }

    @Test("SE-1 users and streams are told on the bus")
    func messages() async throws {
        let room = "\"\(#function)\""
        let reader = try Graph("mediasession name=call room=\(room) user=alice")
        let events = reader.events
        try await reader.start()
        let (bob, source) = try publisher("bob", room: room)
        try await bob.start()
        try Self.send(source)
        #expect(waitUntil { NodeCounts(try! bob.element("call"))!.frames == 1 })
        await bob.stop()
        await reader.stop()
        var heard: [String] = []
        for await event in events {
            switch event {
            case .userJoined(let node, let user): heard.append("\(node) +\(user)")
            case .userLeft(let node, let user): heard.append("\(node) -\(user)")
            case .userStream(let node, let user, let kind, let isOn):
                heard.append("\(node) \(user)'s \(kind) \(isOn ? "on" : "off")")
            default: break
            }
        }
        #expect(heard == ["call +bob", "call bob's video on", "call bob's video off", "call -bob"])
    }

    @Test("SE-1 a pad may be asked for and given back while the session runs, again and again")
    func padsWhileRunning() async throws {
        let room = "\"\(#function)\""
        let (bob, source) = try publisher("bob", room: room)
        try await bob.start()
        let pipeline = try Pipeline(parsing: "mediasession name=call room=\(room) user=alice")
        let session = try #require(pipeline.element(named: "call"))
        pipeline.setState(.playing)
        for _ in 0..<20 {
            let pad = try #require(session.requestPad("video_bob"))
            let pipe = try #require(Element(factory: "rawdatapipe"))
            let log = Log<String>()
            try NodeVTable.attach(Recorder(log: log), memoryMode: nil, to: pipe)
            pipeline.add(pipe)
            pipe.syncState()
            #expect(pad.link(to: try #require(pipe.staticPad("sink"))))
            #expect(
                waitUntil {
                    try? Self.send(source)
                    return log.all.count > 2
                })
            session.releasePad(pad)
            pipe.setState(.null)
            pipeline.remove(pipe)
        }
        pipeline.setState(.null)
        await bob.stop()
    }

    @Test(
        "SE-1 a subscription that nobody reads yet loses frames, and what is linked to it later gets the stream whole")
    func linkedLater() async throws {
        let room = "\"\(#function)\""
        let (bob, source) = try publisher("bob", room: room)
        try await bob.start()
        let pipeline = try Pipeline(parsing: "mediasession name=call room=\(room) user=alice")
        let failures = Log<String>()
        pipeline.onMessage { if case .error(let report) = $0.kind { failures.add("\(report)") } }
        pipeline.setState(.playing)
        let pad = try #require(pipeline.element(named: "call")?.requestPad("video_bob"))
        for _ in 0..<5 { try Self.send(source) }
        let pipe = try #require(Element(factory: "rawdatapipe"))
        let log = Log<String>()
        try NodeVTable.attach(Recorder(log: log), memoryMode: nil, to: pipe)
        pipeline.add(pipe)
        pipe.syncState()
        #expect(pad.link(to: try #require(pipe.staticPad("sink"))))
        #expect(
            waitUntil {
                try? Self.send(source)
                return log.all.count > 2
            })
        #expect(log.all.prefix(2) == ["on", "frame"])
        #expect(failures.all == [])
        pipeline.setState(.null)
        await bob.stop()
    }

    @Test("SE-1 a file is sent into a session at the pace at which it would be shown")
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

    @Test("SE-2 what sends is linked before the session is joined: later it is refused, with a warning")
    func lateInput() throws {
        let pipeline = try Pipeline(parsing: "mediasession name=call room=\"\(#function)\" user=alice")
        let session = try #require(pipeline.element(named: "call"))
        pipeline.setState(.playing)
        #expect(session.requestPad("camera") == nil)
        #expect(throws: PropertyError.self) { try session.setProperty("user", to: "bob") }
        pipeline.setState(.null)
        #expect(session.requestPad("camera") != nil)
    }

    @Test("EL-1 a session's states change fifty times, in a graph that sends and reads")
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

extension Graph {
    fileprivate func counts(_ node: String) throws -> NodeCounts { try #require(NodeCounts(element(node))) }
}
