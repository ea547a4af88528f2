import CMediaGraphABI
import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests that mirrored means the same everywhere: left and right of the picture as it stands upright.
@Suite(.timeLimit(.minutes(10))) struct MirrorTests {
    init() throws { try Nodes.register() }

    /// The mirrored pictures of a frame with the rows 1 2 3 and 4 5 6: as stored, and turned upright.
    private static let mirrored: [(rotation: Rotation, stored: [[UInt8]], upright: [[UInt8]])] = [
        (.none, [[3, 2, 1], [6, 5, 4]], [[3, 2, 1], [6, 5, 4]]),
        (.clockwise90, [[4, 5, 6], [1, 2, 3]], [[1, 4], [2, 5], [3, 6]]),
        (.clockwise180, [[3, 2, 1], [6, 5, 4]], [[4, 5, 6], [1, 2, 3]]),
        (.clockwise270, [[4, 5, 6], [1, 2, 3]], [[6, 3], [5, 2], [4, 1]]),
    ]

    @Test("RP-10 FO-4 pipe and observer mirror the picture as it stands upright, turned or not")
    func nodes() throws {
        for (rotation, stored, upright) in Self.mirrored {
            for turns in [false, true] {
                let expected = turns ? upright : stored
                let pipe = try #require(Element(factory: "rawdatapipe"))
                for (property, text) in [
                    ("format", "RGBA"), ("apply-mirror", "true"), ("apply-rotation", "\(turns)"),
                ] { try pipe.setProperty(property, parsing: text) }
                let delivered = Log<[[UInt8]]>()
                let receiver = FrameReceiver { delivered.add(try ObserverHarness.rows($0)) }
                try NodeVTable.attach(receiver, to: pipe)
                let harness = Harness(pipe, sink: "sink", source: nil)
                harness.setLive(false)
                harness.setSourceCaps("video/x-raw,format=RGBA,width=3,height=2,framerate=30/1")
                harness.push(ObserverHarness.numbered(rotation))
                #expect(delivered.all == [expected], "pipe, \(rotation), turned \(turns)")

                let preference = FramePreference(format: .rgba, appliesRotation: turns, appliesMirror: true)
                let shown = Log<[[UInt8]]>()
                let observer = try ObserverHarness.make(.rgba, 3, 2, preference) { (frame: borrowing VideoFrame) in
                    shown.add(try ObserverHarness.rows(frame))
                    return .pass
                }
                observer.push(ObserverHarness.numbered(rotation))
                #expect(shown.all == [expected], "observer, \(rotation), turned \(turns)")
            }
        }
    }

    private struct FrameReceiver: VideoConsumer {
        let onFrame: @Sendable (borrowing VideoFrame) throws -> Void
        func receive(_ frame: borrowing VideoFrame) throws { try onFrame(frame) }
    }

    @Test("RP-10 CR-4 a session's mirror mode asks for the flip that pipe and observer apply")
    func sessionMirror() async throws {
        let room = "mirror \(#function)"
        let source = RecordingSource()
        let alice = try MediaGraphTests.session("alice", room) {
            $0.externalVideoSource = source
            $0.mirrorMode = .both
            $0.customVideoRender = CustomVideoRender(format: .rgba)
        }
        let bob = try MediaGraphTests.session("bob", room) {
            $0.customVideoRender = CustomVideoRender(format: .rgba)
        }
        for session in [alice, bob] { try await session.join() }
        #expect(waitUntil { bob.remoteUsers.count == 1 })
        typealias Seen = (rotation: Rotation, rows: [[UInt8]])
        let (own, remote) = (Log<Seen>(), Log<Seen>())
        /// Logs each frame as a renderer shows it: flipped as the frame asks for.
        @Sendable func log(_ frame: borrowing VideoFrame, in log: Log<Seen>) throws {
            var rows = try ObserverHarness.rows(frame)
            if [.y, .xy].contains(frame.flip) { rows.reverse() }
            if [.x, .xy].contains(frame.flip) { rows = rows.map { $0.reversed() } }
            log.add((frame.rotation, rows))
        }
        let (preview, pipe) = (PipeLog { try log($0, in: own) }, PipeLog { try log($0, in: remote) })
        try alice.preview.subscribe(preview, resolution: .p90)
        try bob.user("alice").videoPipe.subscribe(pipe, resolution: .p90)
        let bytes = (1...6).flatMap { [UInt8($0), 0, 0, 255] as [UInt8] }
        for (rotation, stored, _) in Self.mirrored {
            let frame = FrameDescription(width: 3, height: 2, format: FrameFormat(.rgba), rotation: rotation)
            for seen in [own, remote] {
                #expect(
                    waitUntil {
                        try? sendNow(source.sender, bytes, frame)
                        return seen.all.contains { $0.rotation == rotation }
                    })
                #expect(seen.all.filter { $0.rotation == rotation }.allSatisfy { $0.rows == stored }, "\(rotation)")
            }
        }
        for session in [alice, bob] { await session.leave() }
    }

    @Test("RP-10 interlaced frames are mirrored only if their lines stay in place, otherwise it's an error")
    func interlaced() async throws {
        let source =
            "videotestsrc num-buffers=1 ! video/x-raw,format=I420,width=16,height=16,interlace-mode=interleaved"
        for (tag, property, isPossible) in [
            ("rotate-0", "apply-mirror", true), ("rotate-90", "apply-mirror", false),
            ("rotate-180", "apply-rotation", false), ("rotate-90", "apply-rotation", false),
        ] {
            let graph = try Graph(
                "\(source) ! taginject tags=image-orientation=\(tag) ! rawdatapipe handler=count \(property)=true")
            if isPossible {
                try await graph.run()
            } else {
                let error = await #expect(throws: GraphError.self) { try await graph.run() }
                #expect("\(error!)".contains("put deinterlace before the pipe"), "\(error!)")
            }
        }
    }
}
