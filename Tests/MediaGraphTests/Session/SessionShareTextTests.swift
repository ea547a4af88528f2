import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests shares that a session makes from descriptions.
@Suite struct SessionShareTextTests {
    @Test("SE-13 a description is shared with its sound, and its text is a part of the session's")
    func shared() async throws {
        let (alice, bob) = (try session("alice", #function), try session("bob", #function))
        for session in [alice, bob] { try await session.join() }
        let user = SessionUser(name: "bob", session: alice)
        let pipe = PipeLog()
        let picture = "videotestsrc is-live=true ! video/x-raw,width=64,height=48"
        try await bob.shareHelper.startSharing(picture, audio: "audiotestsrc is-live=true")
        #expect(bob.shareHelper.isSharing)
        #expect(waitUntil { user.isSending(.share) })
        try user.sharePipe.subscribe(pipe, resolution: .p90)
        #expect(waitUntil { pipe.count > 2 })
        #expect(bob.description.contains("\(picture) ! session.share"), "\(bob.description)")
        #expect(bob.description.contains("audiotestsrc is-live=true ! session.shareaudio"), "\(bob.description)")
        let pause = await #expect(throws: MediaGraphError.self) { try await bob.shareHelper.pause() }
        #expect(pause?.code == .unsupported)
        await bob.shareHelper.stopSharing()
        #expect(!bob.shareHelper.isSharing && !bob.description.contains("session.share"))
        let count = pipe.count
        try await bob.shareHelper.startSharing(picture)
        #expect(waitUntil { pipe.count > count })
        for session in [alice, bob] { await session.leave() }
    }

    @Test(
        "SE-13 a description that can't be shared is refused with the reason, and the session goes on",
        arguments: [
            ("v4l2src device=/dev/video77", MediaGraphError.Code.noDevice), ("nosuchsrc", .invalidParameter),
            ("fakesink", .invalidParameter), ("identity", .invalidParameter),
        ])
    func refused(text: String, code: MediaGraphError.Code) async throws {
        let bob = try session("bob", "refused \(text.replacing("/", with: " "))")
        let early = await #expect(throws: MediaGraphError.self) { try await bob.shareHelper.startSharing(text) }
        #expect(early?.code == .notInSession)
        try await bob.join()
        let error = await #expect(throws: MediaGraphError.self) { try await bob.shareHelper.startSharing(text) }
        #expect(error?.code == code, "\(error.map { "\($0)" } ?? "none")")
        #expect(bob.isJoined && !bob.shareHelper.isSharing)
        try await bob.shareHelper.startSharing("videotestsrc is-live=true")
        #expect(bob.shareHelper.isSharing)
        await bob.leave()
    }

    @Test("SE-13 a real screen is shared from its description, and a closed window is refused")
    func sharedScreen() async throws {
        let display = try VirtualDisplay(width: 64, height: 48)
        let (alice, bob) = (try session("alice", #function), try session("bob", #function))
        for session in [alice, bob] { try await session.join() }
        let user = SessionUser(name: "bob", session: alice)
        let pipe = PipeLog()
        let capture = "ximagesrc display-name=\(display.name) use-damage=false"
        let error = await #expect(throws: MediaGraphError.self) {
            try await bob.shareHelper.startSharing("\(capture) xname=nothing")
        }
        #expect(error?.code == .noDevice && !bob.shareHelper.isSharing, "\(error.map { "\($0)" } ?? "none")")
        try await bob.shareHelper.startSharing(capture)
        #expect(waitUntil { user.isSending(.share) })
        try user.sharePipe.subscribe(pipe, resolution: .p90)
        #expect(waitUntil { pipe.count > 2 })
        for session in [bob, alice] { await session.leave() }
        // Xlib ends this process if the server ends before the graphs have disconnected.
        withExtendedLifetime(display) {}
    }
}
