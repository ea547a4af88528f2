import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests observers and editors that serve several positions, or several rooms.
@Suite(.timeLimit(.minutes(10))) struct SessionObserverRoomsTests {
    init() throws { try Nodes.register() }

    /// Logs the user and the room of each received frame.
    private final class Observer: SessionFrameObserver {
        let positions: Set<FramePosition> = [.preRenderer]
        let wantsChannels = true
        let calls = Log<String>()

        func received(_ frame: borrowing VideoFrame, from user: SessionUser, in channel: String) -> Verdict {
            calls.add("\(user.name) in \(channel)")
            return .pass
        }
    }

    /// Fills each frame's luma with a value that names its position.
    private final class Editor: SessionFrameEditor {
        let positions: Set<FramePosition> = [.preEncoder, .preRenderer]
        let wantsChannels = true
        let calls = Log<String>()

        func willEncode(_ frame: inout VideoFrame) throws -> Verdict {
            var luma = try frame.mutablePlane(.y)
            luma.fill(rows: 0..<luma.height, with: 150)
            return .pass
        }
        func received(_ frame: inout VideoFrame, from user: SessionUser, in channel: String) throws -> Verdict {
            calls.add("\(user.name) in \(channel)")
            var luma = try frame.mutablePlane(.y)
            luma.fill(rows: 0..<luma.height, with: 50)
            return user.name == "carol" ? .drop : .pass
        }
    }

    @Test("FO-5 one observer in the sessions of several rooms gets all their frames, with user and channel")
    func severalRooms() async throws {
        let observer = Observer()
        let rooms = ["observed room 1", "observed room 2"]
        let (bob, carol) = (RecordingSource(), RecordingSource())
        var sessions: [Session] = []
        for (room, (user, source)) in zip(rooms, [("bob", bob), ("carol", carol)]) {
            sessions.append(try session("alice", room) { $0.frameObserver = observer })
            sessions.append(try session(user, room) { $0.externalVideoSource = source })
        }
        for session in sessions { try await session.join() }
        let expected = Set(["bob in observed room 1", "carol in observed room 2"])
        #expect(
            waitUntil {
                for source in [bob, carol] { try? source.sendPattern() }
                return Set(observer.calls.all).isSuperset(of: expected)
            })
        // One session's end doesn't end the other's calls.
        await sessions[0].leave()
        observer.calls.removeAll()
        #expect(
            waitUntil {
                try? carol.sendPattern()
                return observer.calls.all.count > 3
            })
        for session in sessions.dropFirst() { await session.leave() }
        #expect(Set(observer.calls.all) == ["carol in observed room 2"])
    }

    @Test("FO-2 FO-5 an editor's changes before encoding reach others, and with channels its verdict decides")
    func editsEverywhere() async throws {
        let editor = Editor()
        let alice = try session("alice", #function) {
            $0.camera = "videotestsrc is-live=true pattern=black ! video/x-raw,format=I420,width=32,height=18"
            $0.frameEditor = editor
        }
        let (bobs, carols) = (RecordingSource(), RecordingSource())
        let bob = try session("bob", #function) { $0.externalVideoSource = bobs }
        let carol = try session("carol", #function) { $0.externalVideoSource = carols }
        for session in [alice, bob, carol] { try await session.join() }
        #expect(waitUntil { alice.remoteUsers.count == 2 && bob.remoteUsers.count == 2 })
        let (edited, sent) = (Log<UInt8>(), Log<UInt8>())
        let kept = PipeLog { edited.add(try $0.plane(.y).row(3)[0]) }
        let dropped = PipeLog()
        let others = PipeLog { sent.add(try $0.plane(.y).row(3)[0]) }
        try alice.user("bob").videoPipe.subscribe(kept, resolution: .p90)
        try alice.user("carol").videoPipe.subscribe(dropped, resolution: .p90)
        try bob.user("alice").videoPipe.subscribe(others, resolution: .p90)
        #expect(
            waitUntil {
                for source in [bobs, carols] { try? source.sendPattern() }
                return kept.count > 3 && others.count > 3
                    && editor.calls.all.count { $0.hasPrefix("carol") } > 3
            })
        for session in [carol, bob, alice] { await session.leave() }
        #expect(Set(edited.all) == [50] && Set(sent.all) == [150])
        #expect(dropped.count == 0)
        #expect(Set(editor.calls.all) == ["bob in \(#function)", "carol in \(#function)"])
    }
}
