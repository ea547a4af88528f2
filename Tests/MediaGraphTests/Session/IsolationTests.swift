import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphHandlers

/// Tests that one user's consumer or stream doesn't affect the others.
@Suite struct IsolationTests {
    init() throws { try Nodes.register() }

    private struct Failure: Error, CustomStringConvertible { let description = "on purpose" }

    private static func send(_ source: RecordingSource, width: Int = 16) throws {
        let sender = source.sender
        try sendNow(
            sender, patternedFrame(width: width, height: 16),
            FrameDescription(width: width, height: 16, framesPerSecond: Fraction(30, 1), timestamp: sender.runningTime))
    }

    private func publisher(_ user: String, room: String) throws -> (graph: Graph, source: RecordingSource) {
        let graph = try Graph(
            "videosource name=camera ! call.camera  mediasession name=call room=\"\(room)\" user=\(user)")
        let source = RecordingSource()
        try graph.videoSource("camera").attach(source)
        return (graph, source)
    }

    private func reader(_ user: String, room: String, _ text: String) throws -> Graph {
        try Graph("mediasession name=call room=\"\(room)\" user=\(user)  \(text)")
    }

    private func count(_ log: Log<Bool>, at pipe: String, of graph: Graph) throws {
        try graph.rawDataPipe(pipe).receive { _ in log.add(true) }
    }

    private func warnings(of events: AsyncStream<GraphEvent>) async -> [String] {
        var warnings: [String] = []
        for await event in events { if case .warning(let problem) = event { warnings.append("\(problem)") } }
        return warnings
    }

    @Test("SE-4 a consumer that throws ends its own user's graph, and costs other users no frame")
    func throwingConsumer() async throws {
        let room = #function
        let bob = try publisher("bob", room: room)
        let text = "call.video_bob ! rawdatapipe name=bob"
        let (thrower, other) = (try reader("alice", room: room, text), try reader("carol", room: room, text))
        try thrower.rawDataPipe("bob").receive { _ in throw Failure() }
        let log = Log<Bool>()
        try count(log, at: "bob", of: other)
        for graph in [thrower, other, bob.graph] { try await graph.start() }
        for sent in 1...20 {
            try Self.send(bob.source)
            #expect(waitUntil { log.all.count == sent })
        }
        let error = await #expect(throws: GraphError.self) { try await thrower.waitUntilEnd() }
        #expect("\(error!)".contains("on purpose") && "\(error!)".contains("bob"), "\(error!)")
        #expect(try #require(NodeCounts(other.element("call"))).dropped == 0)
        for graph in [other, bob.graph] { await graph.stop() }
    }

    @Test(
        "SE-4 with on-error=drop a consumer that throws only loses those frames, with one warning"
    )
    func throwingInOneGraph() async throws {
        let room = #function
        let bob = try publisher("bob", room: room)
        let carol = try publisher("carol", room: room)
        let alice = try reader(
            "alice", room: room,
            """
            call.video_bob ! rawdatapipe name=bob on-error=drop max-frames=20
            call.video_carol ! rawdatapipe name=carol max-frames=20
            """)
        let (calls, log) = (Log<Bool>(), Log<Bool>())
        try alice.rawDataPipe("bob").receive { _ in
            calls.add(true)
            if calls.all.count <= 10 { throw Failure() }
        }
        try count(log, at: "carol", of: alice)
        let events = alice.events
        for graph in [alice, bob.graph, carol.graph] { try await graph.start() }
        for sent in 1...12 {
            try Self.send(bob.source)
            try Self.send(carol.source)
            #expect(waitUntil { log.all.count == sent && calls.all.count == sent })
        }
        let pipe = try alice.rawDataPipe("bob")
        #expect(waitUntil { pipe.statistics.frames == 2 })
        #expect(pipe.statistics.failed == 10 && pipe.statistics.dropped == 10)
        #expect(try alice.rawDataPipe("carol").statistics.dropped == 0)
        for graph in [alice, bob.graph, carol.graph] { await graph.stop() }
        let received = await warnings(of: events)
        #expect(received.count == 1 && received[0].contains("on purpose"), "\(received)")
    }

    @Test("SE-4 a delegate that throws only loses the frame, and the session's other delegates go on")
    func throwingDelegate() async throws {
        final class Thrower: RawDataDelegate {
            func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws { throw Failure() }
        }
        final class Counter: RawDataDelegate {
            let log = Log<Bool>()
            func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) { log.add(true) }
        }
        final class Warnings: SessionDelegate {
            let log = Log<String>()
            func session(_ session: Session, _ event: SessionEvent) {
                if case .warning(let warning) = event { log.add("\(warning)") }
            }
        }
        let room = #function
        let bob = try publisher("bob", room: room)
        try await bob.graph.start()
        let alice = try Session(SessionContext(user: "alice", room: room))
        let warnings = Warnings()
        alice.delegate = warnings
        try await alice.join()
        let pipe = try alice.user("bob").videoPipe
        let (thrower, counter) = (Thrower(), Counter())
        try pipe.subscribe(thrower, resolution: .native)
        try pipe.subscribe(counter, resolution: .native)
        #expect(
            waitUntil {
                try? Self.send(bob.source)
                return counter.log.all.count > 10 && !warnings.log.all.isEmpty
            })
        #expect(warnings.log.all.count == 1 && warnings.log.all[0].contains("on purpose"), "\(warnings.log.all)")
        await alice.leave()
        await bob.graph.stop()
    }

    @Test(
        "SE-4 a stream in an unsuitable format is interrupted until the format fits, and others go on")
    func brokenFormat() async throws {
        let room = #function
        let bob = try publisher("bob", room: room)
        let carol = try publisher("carol", room: room)
        let alice = try reader(
            "alice", room: room,
            """
            call.video_bob ! video/x-raw,width=16 ! rawdatapipe name=bob max-frames=20
            call.video_carol ! rawdatapipe name=carol max-frames=20
            """)
        let (bobs, carols) = (Log<Bool>(), Log<Bool>())
        try count(bobs, at: "bob", of: alice)
        try count(carols, at: "carol", of: alice)
        let events = alice.events
        for graph in [alice, bob.graph, carol.graph] { try await graph.start() }
        var (taken, sent) = (0, 0)
        for width in [16, 32, 16, 48, 16] {
            for _ in 0..<3 {
                try Self.send(bob.source, width: width)
                try Self.send(carol.source)
                sent += 1
                if width == 16 { taken += 1 }
                #expect(
                    waitUntil {
                        carols.all.count == sent && bobs.all.count == taken
                            && NodeCounts(try! bob.graph.element("call"))!.frames == sent
                    })
            }
        }
        #expect(try alice.rawDataPipe("carol").statistics.dropped == 0)
        // Frames in the wrong format are lost and counted.
        #expect(waitUntil { NodeCounts(try! alice.element("call"))!.dropped == 6 })
        for graph in [alice, bob.graph, carol.graph] { await graph.stop() }
        let received = await warnings(of: events)
        #expect(received.count { $0.contains("call.video_bob can't deliver bob's stream") } == 2, "\(received)")
    }

    @Test("SE-4 buffers that don't fit their format only cost their own stream's readers those frames")
    func brokenBuffers() async throws {
        let room = #function
        let carol = try publisher("carol", room: room)
        let bob = try Pipeline(
            parsing: """
                mediasession name=call room="\(room)" user=bob
                appsrc name=s is-live=true format=time
                    caps=video/x-raw,format=I420,width=320,height=240,framerate=30/1 ! call.camera
                """)
        let source = try #require(bob.element(named: "s").flatMap(AppSource.init(wrapping:)))
        let alice = try reader(
            "alice", room: room,
            """
            call.video_bob ! rawdatapipe name=scaled on-error=drop resolution=90p max-frames=20
            call.video_carol ! rawdatapipe name=carol max-frames=20
            """)
        let dan = try reader(
            "dan", room: room, "call.video_bob ! rawdatapipe name=native on-error=drop max-frames=20")
        let (scaled, native, carols) = (Log<Bool>(), Log<Bool>(), Log<Bool>())
        try count(scaled, at: "scaled", of: alice)
        try count(carols, at: "carol", of: alice)
        try count(native, at: "native", of: dan)
        let marks = (scaled: Log<Bool>(), native: Log<Bool>())
        for (graph, marks) in [(alice, marks.scaled), (dan, marks.native)] {
            try graph.element("call").staticPad("video_bob")?.observeBuffers { marks.add($0.isDiscontinuous) }
        }
        for graph in [alice, dan, carol.graph] { try await graph.start() }
        bob.setState(.playing)
        for sent in 1...10 {
            for isWhole in [true, false] {
                let count = isWhole ? 320 * 240 * 3 / 2 : 100
                guard let buffer = Buffer(filledWith: 9, count: count) else { throw Failure() }
                buffer.access.presentationTimestamp = source.currentRunningTime
                source.push(buffer)
            }
            try Self.send(carol.source)
            // Also waits for the broken buffer, because a reader that still holds it would lose the next one.
            #expect(
                waitUntil {
                    scaled.all.count == sent && native.all.count == sent && carols.all.count == sent
                        && marks.native.all.count == 2 * sent
                        && NodeCounts(try! alice.element("call"))!.dropped == sent
                })
        }
        #expect(try alice.rawDataPipe("carol").statistics.dropped == 0)
        #expect(waitUntil { (try? dan.rawDataPipe("native").statistics.failed) == 10 })
        // Each buffer except the first follows a lost one.
        #expect(marks.scaled.all.dropFirst() == ArraySlice(repeating: true, count: 9))
        #expect(marks.native.all.dropFirst() == ArraySlice(repeating: false, count: 19))
        for graph in [alice, dan, carol.graph] { await graph.stop() }
        bob.setState(.null)
    }
}
