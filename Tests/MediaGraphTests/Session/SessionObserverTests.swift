import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests a session's frame observer at each of its positions.
@Suite(.timeLimit(.minutes(10))) struct SessionObserverTests {
    init() throws { try Nodes.register() }

    /// Logs each call with the frame's first byte.
    private final class Observer: SessionFrameObserver {
        let positions: Set<FramePosition>
        let wantsChannels: Bool
        let calls = Log<String>()
        let registrations = Log<FramePosition>()
        let streams = Log<String>()

        init(_ positions: Set<FramePosition>, wantsChannels: Bool = false) {
            self.positions = positions
            self.wantsChannels = wantsChannels
        }

        func registered(_ registration: ObserverRegistration, at position: FramePosition) {
            registrations.add(position)
        }
        func captured(_ frame: borrowing VideoFrame) throws -> Verdict {
            calls.add("captured \(try frame.plane(.y).row(0)[0])")
            return .pass
        }
        func willEncode(_ frame: borrowing VideoFrame) throws -> Verdict {
            calls.add("pre-encode \(try frame.plane(.y).row(0)[0])")
            return .pass
        }
        func received(_ frame: borrowing VideoFrame, from user: SessionUser) throws -> Verdict {
            calls.add(user.name)
            streams.add(frame.streamID ?? "-")
            return .pass
        }
        func received(_ frame: borrowing VideoFrame, from user: SessionUser, in channel: String) throws -> Verdict {
            calls.add("\(user.name) in \(channel)")
            return .pass
        }
    }

    private final class Defaults: SessionFrameObserver {}

    private struct Marker: VideoProcessor {
        func process(_ frame: inout VideoFrame) throws -> Verdict {
            var luma = try frame.mutablePlane(.y)
            luma.fill(rows: 0..<luma.height, with: 200)
            return .pass
        }
    }

    private static let camera = "videotestsrc is-live=true pattern=black ! video/x-raw,format=I420,width=32,height=18"

    private func observers(of session: Session) throws -> [String] {
        session.graph.pipeline.elements.filter { $0.factoryName == "frameobserver" }.map(\.name).sorted()
    }

    @Test(
        "FO-1 a session has an observer element at each requested position and for each remote user"
    )
    func positions() async throws {
        let room = #function
        let alice = try session("alice", room) {
            $0.camera = Self.camera
            $0.frameObserver = Defaults()
        }
        try await alice.join()
        #expect(try observers(of: alice) == ["post_capture"])
        #expect(try alice.graph.element("post_capture").propertyText("position") == "post-capture")
        let (bob, carol) = try (session("bob", room), session("carol", room))
        for session in [bob, carol] { try await session.join() }
        #expect(waitUntil { alice.remoteUsers.count == 2 })
        await alice.settle()
        #expect(try observers(of: alice) == ["observer_video_bob", "observer_video_carol", "post_capture"])
        #expect(try alice.graph.element("observer_video_bob").propertyText("position") == "pre-renderer")
        let log = PipeLog()
        try alice.user("bob").videoPipe.subscribe(log, resolution: .p90)
        for session in [bob, carol] { await session.leave() }
        #expect(waitUntil { alice.remoteUsers.isEmpty })
        await alice.settle()
        // A subscription outlasts its user, and so does its observer.
        #expect(try observers(of: alice) == ["observer_video_bob", "post_capture"])
        try await SessionUser(name: "bob", session: alice).videoPipe.unsubscribe(log)
        await alice.settle()
        #expect(try observers(of: alice) == ["post_capture"])
        #expect(try alice.graph.element("session").pads.map(\.name) == ["camera"])
        await alice.leave()
        for positions: Set<FramePosition> in [[], [.preEncoder], [.preEncoder, .postCapture]] {
            let dave = try session("dave", room) {
                $0.camera = Self.camera
                $0.frameObserver = Observer(positions)
            }
            let names = positions.map { SessionObservation.name(of: $0) }.sorted()
            #expect(try observers(of: dave) == names)
        }
    }

    @Test(
        "FO-6 an observer gets frames before pre-processing after capture, and after it before encoding")
    func order() async throws {
        let observer = Observer([.postCapture, .preEncoder])
        let alice = try session("alice", #function) {
            $0.camera = Self.camera
            $0.preProcessor = Marker()
            $0.frameObserver = observer
        }
        #expect(observer.registrations.all.count == 2)
        try await alice.join()
        #expect(waitUntil { observer.calls.all.count > 6 })
        await alice.leave()
        #expect(Set(observer.calls.all) == ["captured 16", "pre-encode 200"])
        #expect(
            alice.description.contains(
                "frameobserver name=post_capture position=post-capture on-error=pass ! videoconvert name=preprocessor_input ! video/x-raw,format={I420} ! preprocessor name=preprocessor on-error=pass ! frameobserver name=pre_encoder"
            ))
    }

    @Test(
        "FO-5 remote frames come with the user, or with user and channel, but never with both",
        arguments: [false, true])
    func channels(wantsChannels: Bool) async throws {
        let room = "room-\(wantsChannels)"
        let observer = Observer([.preRenderer], wantsChannels: wantsChannels)
        let alice = try session("alice", room) { $0.frameObserver = observer }
        let source = RecordingSource()
        let bob = try session("bob", room) { $0.externalVideoSource = source }
        for session in [alice, bob] { try await session.join() }
        // The observer gets frames without a subscription.
        #expect(
            waitUntil {
                try? source.sendPattern()
                return observer.calls.all.count > 3
            })
        let pipe = PipeLog()
        try alice.user("bob").videoPipe.subscribe(pipe, resolution: .p90)
        #expect(
            waitUntil {
                try? source.sendPattern()
                return pipe.count > 3
            })
        #expect(
            alice.description.hasSuffix(
                """
                session.video_bob ! frameobserver name=observer_video_bob position=pre-renderer on-error=pass ! tee \
                name=split_video_bob allow-not-linked=true
                split_video_bob. ! rawdatapipe name=video_bob on-error=pass
                """))
        #expect(Description(alice.description).resolved().diagnose() == [])
        for session in [alice, bob] { await session.leave() }
        #expect(Set(observer.calls.all) == [wantsChannels ? "bob in \(room)" : "bob"])
        if !wantsChannels { #expect(Set(observer.streams.all) == ["\(room)/bob/video"]) }
    }

    @Test(
        "FO-2 a session's editor changes the frames that others and the user's own pipes get, or drops them"
    )
    func editing() async throws {
        final class Editor: SessionFrameEditor {
            let isDropping = Atomic<Bool>(false)
            func captured(_ frame: inout VideoFrame) throws -> Verdict {
                var luma = try frame.mutablePlane(.y)
                luma.fill(rows: 0..<luma.height, with: 100)
                return .pass
            }
            func received(_ frame: inout VideoFrame, from user: SessionUser) throws -> Verdict {
                var luma = try frame.mutablePlane(.y)
                luma.fill(rows: 0..<luma.height, with: 50)
                return isDropping.load(ordering: .relaxed) ? .drop : .pass
            }
        }
        let editor = Editor()
        let alice = try session("alice", #function) {
            $0.camera = Self.camera
            $0.frameEditor = editor
        }
        let source = RecordingSource()
        let bob = try session("bob", #function) { $0.externalVideoSource = source }
        for session in [alice, bob] { try await session.join() }
        #expect(waitUntil { alice.remoteUsers.count == 1 && bob.remoteUsers.count == 1 })
        let luma = Log<UInt8>()
        let (seen, own) = (PipeLog { luma.add(try $0.plane(.y).row(3)[0]) }, Log<UInt8>())
        let sent = PipeLog { own.add(try $0.plane(.y).row(3)[0]) }
        try alice.user("bob").videoPipe.subscribe(seen, resolution: .p90)
        try bob.user("alice").videoPipe.subscribe(sent, resolution: .p90)
        #expect(
            waitUntil {
                try? source.sendPattern()
                return seen.count > 3 && sent.count > 3
            })
        #expect(Set(luma.all) == [50] && Set(own.all) == [100])
        editor.isDropping.store(true, ordering: .relaxed)
        let observer = try alice.graph.frameObserver("observer_video_bob")
        #expect(
            waitUntil {
                try? source.sendPattern()
                return observer.statistics.dropped > 3
            })
        var context = SessionContext(user: "carol", room: #function)
        context.frameEditor = editor
        context.frameObserver = Defaults()
        let both = #expect(throws: MediaGraphError.self) { try Session(context) }
        #expect(both?.code == .wrongUsage)
        for session in [alice, bob] { await session.leave() }
    }
}
