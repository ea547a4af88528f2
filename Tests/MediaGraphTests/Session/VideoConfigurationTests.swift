import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests what a session suggests to its video source.
@Suite(.timeLimit(.minutes(10))) struct VideoConfigurationTests {
    init() throws { try Nodes.register() }

    private static func size(_ width: Int, _ height: Int, _ rate: Int32 = 30) -> VideoCapability {
        VideoCapability(width: width, height: height, framesPerSecond: Fraction(rate, 1))
    }

    /// Sends frames until this size has been suggested to the source. Returns false if it never is.
    private static func suggests(_ text: String, _ source: RecordingSource) -> Bool {
        waitUntil {
            try? source.sendPattern()
            return source.suggested?.text == text
        }
    }

    @Test("SE-10 720p30, or the session's configuration, is suggested to a source that declares nothing")
    func configured() async throws {
        let source = RecordingSource()
        let alice = try session("alice", #function) { $0.externalVideoSource = source }
        try await alice.join()
        #expect(source.suggested == Self.size(1280, 720))
        #expect(source.supported.map(\.height).max() == 720)
        #expect(source.supported.allSatisfy { $0.framesPerSecond.value <= 30 })
        #expect(alice.description.contains("video-config") == false)
        try alice.setVideoConfiguration(Self.size(640, 360, 15))
        #expect(Self.suggests("640x360@15", source))
        #expect(source.calls.all.count { $0 == "propertyChange" } == 1)
        #expect(alice.videoConfiguration == Self.size(640, 360, 15))
        #expect(alice.description.contains(" video-config=640x360@15"))
        await alice.leave()

        let large = RecordingSource()
        let bob = try session("bob", #function) {
            ($0.externalVideoSource, $0.videoConfiguration) = (large, Self.size(1920, 1080, 60))
        }
        try await bob.join()
        #expect(large.suggested == Self.size(1920, 1080, 60))
        await bob.leave()
    }

    @Test("SE-10 the suggestion is the least of the session's limit, the source's list and the readers' demand")
    func least() {
        func suggestion(
            _ list: [VideoCapability], limit: VideoCapability = Self.size(1280, 720), resolution: Resolution = .native
        ) -> String? {
            VideoDemand(limit: limit, resolution: resolution).suggestion(from: list)?.text
        }
        let list = [
            Self.size(320, 180), Self.size(640, 360, 15), Self.size(640, 360), Self.size(1280, 720),
            Self.size(1280, 720, 60), Self.size(1920, 1080),
        ]
        #expect(suggestion(list) == "1280x720@30")
        #expect(suggestion(list, limit: Self.size(1920, 1080, 60)) == "1920x1080@30")
        #expect(suggestion(list, limit: Self.size(1280, 720, 60)) == "1280x720@60")
        #expect(suggestion(list, resolution: .p180) == "320x180@30")
        // High enough for the readers: a size below would have to be enlarged.
        #expect(suggestion(list, resolution: Resolution(height: 200)!) == "640x360@30")
        #expect(suggestion(list, resolution: .p1080) == "1280x720@30")
        #expect(suggestion(Array(list.prefix(2)), resolution: .p720) == "640x360@15")
        // A source that can't do as little as the session asks for.
        #expect(suggestion([Self.size(3840, 2160), Self.size(1920, 1080)]) == "1920x1080@30")
        #expect(suggestion([Self.size(640, 360, 60), Self.size(640, 360, 50)]) == "640x360@50")
        #expect(suggestion([Self.size(720, 1280), Self.size(1080, 1920)]) == "720x1280@30")
        #expect(suggestion([]) == nil)
    }

    @Test(
        "SE-10 a source that can send any size is suggested exactly what the session is configured for",
        arguments: [
            ("1280x720@25", "640x360@25"), ("1920x1080@30000/1001", "640x360@30000/1001"),
            ("640x480@30", "480x360@30"), ("960x540@15", "640x360@15"), ("1280x720@10", "640x360@10"),
            ("720x1280@30", "202x360@30"),
        ])
    func exact(configuration: String, small: String) throws {
        let limit = try #require(VideoCapability(text: configuration))
        func supported(_ resolution: Resolution, _ caps: String? = nil) -> SupportedCapabilities {
            SupportedCapabilities(
                declared: [],
                downstream: DownstreamConstraints(
                    caps: caps.flatMap { Caps($0) }, demand: VideoDemand(limit: limit, resolution: resolution)))
        }
        #expect(supported(.native).suggested?.text == configuration)
        #expect(supported(.p360).suggested?.text == small)
        #expect(supported(.native).list.contains(limit))
        // What downstream doesn't accept isn't suggested.
        #expect(supported(.native, "video/x-raw,width=320,height=180,framerate=15/1").suggested?.text == "320x180@15")
    }

    @Test("SE-10 the capabilities that exceed a session's configuration aren't supported, unless all exceed it")
    func supportedInSession() {
        func supported(_ declared: [VideoCapability], limit: VideoCapability?) -> [String] {
            let demand = limit.map { VideoDemand(limit: $0, resolution: .p180) }
            return SupportedCapabilities(declared: declared, downstream: DownstreamConstraints(demand: demand)).list
                .map(\.text)
        }
        let declared = [
            Self.size(320, 180), Self.size(1280, 720), Self.size(720, 1280, 15), Self.size(1280, 720, 60),
            Self.size(1920, 1080),
        ]
        let all = ["320x180@30", "1280x720@30", "720x1280@15", "1280x720@60", "1920x1080@30"]
        #expect(supported(declared, limit: Self.size(1280, 720)) == Array(all.prefix(3)))
        #expect(supported(declared, limit: Self.size(1280, 720, 60)) == Array(all.prefix(4)))
        #expect(supported(declared, limit: nil) == all)
        #expect(supported(declared, limit: Self.size(160, 90)) == all)
        // A source that can send any size supports the common ones, up to exactly what the session is configured for.
        let any = supported([], limit: Self.size(640, 480, 15))
        #expect(Set(any) == ["160x90@15", "320x180@15", "640x360@15", "640x480@15", "240x180@15"], "\(any)")
    }

    @Test("SE-10 readers in a session don't shrink a source that also feeds other elements")
    func teed() async throws {
        let source = RecordingSource()
        let alice = try Graph(
            """
            mediasession name=call room="\(#function)" user=alice
            videosource name=source ! tee name=t ! queue ! call.camera   t. ! queue ! fakesink
            """)
        try alice.videoSource("source").attach(source)
        let bob = try Graph(
            """
            mediasession name=call room="\(#function)" user=bob
            call.video_alice ! rawdatapipe name=pipe resolution=180p
            """)
        let heights = Log<Int>()
        try bob.rawDataPipe("pipe").receive { heights.add($0.height) }
        for graph in [alice, bob] { try await graph.start() }
        #expect(
            waitUntil {
                try? source.sender.sendPattern(width: 1280, height: 720)
                return heights.all.count > 3
            })
        try alice.element("call").setProperty("video-config", parsing: "640x360@30")
        #expect(
            waitUntil {
                try? source.sender.sendPattern(width: 1280, height: 720)
                return source.suggested?.text == "640x360@30"
            })
        for graph in [bob, alice] { await graph.stop() }
        #expect(Set(heights.all) == [180])
        #expect(source.suggestions.all.map { $0?.text } == ["1280x720@30", "640x360@30"])
    }

    @Test("SE-10 a reader that comes, changes its resolution or goes causes propertyChange with a suggestion")
    func readers() async throws {
        let source = RecordingSource()
        let alice = try session("alice", #function) { $0.externalVideoSource = source }
        let bob = try session("bob", #function)
        for session in [alice, bob] { try await session.join() }
        #expect(waitUntil { (try? bob.user("alice")) != nil })
        let (small, large, own) = (PipeLog(), PipeLog(), PipeLog())
        let pipe = try bob.user("alice").videoPipe
        try pipe.subscribe(small, resolution: .p180)
        #expect(Self.suggests("320x180@30", source))
        try alice.preview.subscribe(own, resolution: .p360)
        #expect(Self.suggests("640x360@30", source))
        try pipe.subscribe(large, resolution: .p1080)
        #expect(Self.suggests("1280x720@30", source))
        try await pipe.unsubscribe(large)
        #expect(Self.suggests("640x360@30", source))
        try await alice.preview.unsubscribe(own)
        #expect(Self.suggests("320x180@30", source))
        try await pipe.unsubscribe(small)
        #expect(Self.suggests("1280x720@30", source))
        // Nothing in between: a new reader counts once its resolution is known.
        #expect(
            source.suggestions.all.map { $0?.text } == [
                "1280x720@30", "320x180@30", "640x360@30", "1280x720@30", "640x360@30", "320x180@30", "1280x720@30",
            ])
        // All while the source sends.
        #expect(source.calls.all.prefix(2) == ["initialize", "startSend"])
        #expect(Set(source.calls.all.dropFirst(2)) == ["propertyChange"])
        for session in [bob, alice] { await session.leave() }
    }

    @Test("SE-10 a pad that isn't linked yet asks for nothing")
    func unlinked() async throws {
        let source = RecordingSource()
        let alice = try session("alice", #function) { $0.externalVideoSource = source }
        let reader = try Graph(
            """
            mediasession name=call room="\(#function)" user=bob
            call.video_alice ! rawdatapipe resolution=180p
            """)
        let other = try Graph("mediasession name=call room=\"\(#function)\" user=carol   call.audio_alice ! fakesink")
        try await alice.join()
        for graph in [reader, other] { try await graph.start() }
        #expect(Self.suggests("320x180@30", source))
        let pad = try #require(other.pipeline.element(named: "call")?.requestPad("video_alice"))
        #expect(
            waitUntil {
                try? source.sendPattern()
                return pad.currentCaps != nil
            })
        // This change is queued behind what the pad might ask for.
        try alice.setVideoConfiguration(Self.size(640, 360, 15))
        #expect(Self.suggests("320x180@15", source))
        #expect(source.suggestions.all.map { $0?.text } == ["1280x720@30", "320x180@30", "320x180@15"])
        for graph in [reader, other] { await graph.stop() }
        await alice.leave()
    }

    @Test("SE-10 readers in other processes count too, and so does a reader that comes before its user")
    func processes() async throws {
        for name in ["config-1", "config-2"] {
            RoomTransportKind.register(
                RoomTransportKind(name: name, summary: "as room", remedy: "") {
                    RoomLink(in: RoomDirectory(room: $0), delegate: $2)
                })
        }
        let reader = try Graph(
            """
            mediasession name=call transport=config-2 room=config user=bob
            call.video_alice ! rawdatapipe name=pipe resolution=180p
            """)
        try await reader.start()
        let source = RecordingSource()
        let alice = try session("alice", "config") {
            ($0.externalVideoSource, $0.transport) = (source, "config-1")
        }
        try await alice.join()
        #expect(source.suggested == Self.size(1280, 720))
        #expect(Self.suggests("320x180@30", source))
        await reader.stop()
        #expect(Self.suggests("1280x720@30", source))
        #expect(source.suggestions.all.map { $0?.text } == ["1280x720@30", "320x180@30", "1280x720@30"])
        await alice.leave()
    }

    @Test("SE-10 text sets the configuration, a stock appsrc gets it, and no other camera's frames change")
    func setByText() async throws {
        let graph = try Graph(
            """
            mediasession name=call room="\(#function)" user=alice video-config=640x360@30000/1001
            appsrc name=source is-live=true format=time ! call.camera
            videotestsrc is-live=true ! video/x-raw,width=1920,height=1080,framerate=30/1 ! call.camera_aux
            call.videoaux_alice ! rawdatapipe name=pipe
            """)
        let (source, heights) = (
            RecordingSource(capabilities: [Self.size(1280, 720), Self.size(640, 360)]), Log<Int>()
        )
        try graph.videoSource("source").attach(source)
        struct Heights: VideoConsumer {
            let log: Log<Int>
            func receive(_ frame: borrowing VideoFrame) { log.add(frame.height) }
        }
        try graph.rawDataPipe("pipe").attach(Heights(log: heights))
        try await graph.start()
        #expect(source.suggested == Self.size(640, 360))
        #expect(waitUntil { heights.all.contains(1080) })
        await graph.stop()
    }

    @Test("SE-10 a configuration that isn't a size and rate is refused in text and in Swift")
    func refusedConfiguration() throws {
        let found = try problems(in: "mediasession name=call video-config=720p")
        #expect(found.count == 1 && found.first?.contains("1280x720@30") == true, "\(found)")
        #expect(VideoCapability(text: "1920x1080@30000/1001")?.framesPerSecond == Fraction(30000, 1001))
        for text in ["0x720@30", "1280x720", "1280x720@0", "1280x720@30/0", "99999x720@30", ""] {
            #expect(VideoCapability(text: text) == nil)
        }
        #expect(throws: MediaGraphError.self) {
            try session("alice", #function) { $0.videoConfiguration = Self.size(0, 720) }
        }
        let alice = try session("alice", #function)
        let error = #expect(throws: MediaGraphError.self) { try alice.setVideoConfiguration(Self.size(1280, 720, 0)) }
        #expect(error?.code == .invalidParameter)
        #expect(alice.videoConfiguration == Self.size(1280, 720))
    }
}
