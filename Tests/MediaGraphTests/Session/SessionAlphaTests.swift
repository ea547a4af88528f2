import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphSession

/// Tests the alpha channel of a session's video.
@Suite(.timeLimit(.minutes(10))) struct SessionAlphaTests {
    init() throws { try Nodes.register() }

    private static let camera =
        "videotestsrc is-live=true pattern=green ! video/x-raw,format=I420,width=32,height=18,framerate=60/1"

    private func alice(
        _ room: String, _ role: SessionRole = .host, allowsRawStreaming: Bool = true,
        mask: String? = "alpha method=green"
    ) throws -> Session {
        try session("alice", room) {
            $0.camera = Self.camera
            $0.alphaMask = mask
            $0.role = role
            $0.allowsRawStreaming = allowsRawStreaming
        }
    }

    @Test("AL-1 a session reports permission, support and state of the alpha channel correctly")
    func queries() async throws {
        let alice = try alice(#function)
        let helper = alice.videoHelper
        #expect(helper.canEnableAlphaChannel && helper.isAlphaChannelSupported && !helper.isAlphaChannelEnabled)
        try await alice.join()
        let own = Log<Bool>()
        let log = PipeLog { own.add($0.alpha != nil) }
        try alice.preview.subscribe(log, resolution: .p90)
        #expect(waitUntil { own.all.last == false })
        try helper.enableAlphaChannel(true)
        #expect(helper.isAlphaChannelEnabled)
        try helper.enableAlphaChannel(false)
        #expect(!helper.isAlphaChannelEnabled)
        #expect(
            alice.description.contains("role=host raw-streaming=true")
                && alice.description.contains("! alphachannel name=alpha mask=\"alpha method=green\" ! session.camera"))
        #expect(Description(alice.description).resolved().diagnose() == [])
        await alice.leave()
    }

    @Test(
        "AL-1 enabling alpha without the host's role, permission or a working mask is a typed error"
    )
    func notPermitted() async throws {
        let room = #function
        for (session, code) in [
            (try alice(room, .participant), MediaGraphError.Code.notPermitted),
            (try alice(room, allowsRawStreaming: false), .notPermitted), (try alice(room, mask: nil), .unsupported),
            (try alice(room, mask: "jpegenc"), .unsupported),
        ] {
            let helper = session.videoHelper
            #expect(helper.canEnableAlphaChannel == (code != .notPermitted && session.context.alphaMask != nil))
            #expect(helper.isAlphaChannelSupported == (code == .notPermitted))
            for isJoined in [false, true] {
                if isJoined { try await session.join() }
                let error = #expect(throws: MediaGraphError.self) { try helper.enableAlphaChannel(true) }
                #expect(error?.code == code)
                try helper.enableAlphaChannel(false)
                #expect(!helper.isAlphaChannelEnabled)
            }
            await session.leave()
        }
    }

    @Test(
        "AL-1 an alphachannel in a description asks the session behind it for permission, if there is one")
    func alphaInDescription() async throws {
        func graph(_ rights: String, _ enabled: Bool) throws -> Graph {
            try Graph(
                """
                mediasession name=call room="\(#function)" user=alice \(rights)
                \(Self.camera) ! alphachannel name=alpha enabled=\(enabled) ! queue ! tee name=t ! queue ! call.camera
                """)
        }
        let host = try graph("role=host raw-streaming=true", true)
        #expect(try host.alphaChannel("alpha").canEnable)
        try await host.start()
        #expect(throws: PropertyError.self) { try host.element("call").setProperty("role", parsing: "participant") }
        await host.stop()
        let other = try graph("role=host", true)
        #expect(try !other.alphaChannel("alpha").canEnable)
        let error = await #expect(throws: GraphError.self) { try await other.start() }
        #expect("\(error!)".contains("raw-streaming=true"), "\(error!)")
        let off = try graph("", false)
        try await off.start()
        #expect(throws: PropertyError.self) { try off.element("alpha").setProperty("enabled", to: true) }
        await off.stop()
        let alone = try Graph("\(Self.camera) ! alphachannel name=alpha ! fakesink")
        #expect(try alone.alphaChannel("alpha").canEnable)
    }

    @Test("AL-3 each toggle is reported once to the session's delegate, before its first frame")
    func toggled() async throws {
        final class Delegate: SessionDelegate {
            let log: Log<String>
            init(_ log: Log<String>) { self.log = log }
            func session(_ session: Session, _ event: SessionEvent) {
                if case .alphaChannel = event { log.add("twice") }
            }
            func session(_ session: Session, alphaChannelIsOn isOn: Bool, of user: SessionUser, stream: UserStream) {
                log.add(isOn ? "on" : "off")
            }
        }
        /// Gets each frame behind the alpha channel, on the camera's own thread.
        final class Observer: SessionFrameObserver {
            let log: Log<String>
            init(_ log: Log<String>) { self.log = log }
            let positions: Set<FramePosition> = [.preEncoder]
            let preference = FramePreference(format: .a420)
            func willEncode(_ frame: borrowing VideoFrame) throws -> Verdict {
                // Frames without alpha become opaque.
                log.add(try frame.plane(.alpha).row(0)[0] == 255 ? "opaque" : "cut out")
                return .pass
            }
        }
        let log = Log<String>()
        let (delegate, observer) = (Delegate(log), Observer(log))
        let alice = try session("alice", #function) {
            $0.camera = Self.camera
            $0.alphaMask = "alpha method=green"
            $0.role = .host
            $0.allowsRawStreaming = true
            $0.frameObserver = observer
        }
        alice.delegate = delegate
        let sessionEvents = alice.events
        try await alice.join()
        for round in 1...6 {
            let (count, isOn) = (log.all.count, round % 2 == 1)
            try alice.videoHelper.enableAlphaChannel(isOn)
            #expect(waitUntil { log.all.dropFirst(count).contains(isOn ? "cut out" : "opaque") })
            #expect(waitUntil { log.all.count { $0 == "on" || $0 == "off" } == round })
        }
        await alice.leave()
        var isOn = false
        for entry in log.all {
            switch entry {
            case "on", "off": isOn = entry == "on"
            default: #expect(entry == (isOn ? "cut out" : "opaque"))
            }
        }
        #expect(log.all.filter { $0 == "on" || $0 == "off" } == ["on", "off", "on", "off", "on", "off"])
        #expect(!log.all.contains("twice"))
        var events: [Bool] = []
        for await event in sessionEvents {
            if case .alphaChannel(_, _, let isOn) = event { events.append(isOn) }
            if case .left = event { break }
        }
        #expect(events == [true, false, true, false, true, false])
    }
}
