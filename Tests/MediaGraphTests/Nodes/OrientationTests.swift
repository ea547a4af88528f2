import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink

/// Tests the orientation of frames, from a stream's tags and from the frames' own metas.
@Suite struct OrientationTests {
    init() throws { try Nodes.register() }

    /// Returns a source of two frames that look different in each orientation, in a stream with this tag.
    private static func stream(_ tag: VideoOrientation, format: String = "I420") -> String {
        """
        videotestsrc num-buffers=2 pattern=smpte100 ! video/x-raw,format=\(format),width=24,height=16 !
        taginject tags=image-orientation=\(tag.tag)
        """
    }

    private struct Seen: Equatable, Sendable {
        var width: Int, height: Int
        var rotation: Rotation, flip: Flip
        var bytes: [UInt8]

        init(_ frame: borrowing VideoFrame) {
            (width, height, rotation, flip) = (frame.width, frame.height, frame.rotation, frame.flip)
            bytes = frame.packedBytes
        }

        var orientation: String { "\(rotation.rawValue) \(flip)" }
    }

    /// Runs a graph and returns the frames that its pipe `p` gets.
    private func frames(_ description: String) async throws -> [Seen] {
        let graph = try Graph(description)
        let seen = Log<Seen>()
        try graph.rawDataPipe("p").receive { seen.add(Seen($0)) }
        try await graph.run()
        return seen.all
    }

    // MARK: Combining orientations

    @Test("RP-13 combining orientations matches videoflip, and an orientation and its inverse are upright")
    func algebra() throws {
        let caps = try #require(Caps("video/x-raw,format=RGBA,width=3,height=2,framerate=30/1"))
        let (first, second, both) = (
            try BufferFilter("videoflip"), try BufferFilter("videoflip"), try BufferFilter("videoflip")
        )
        for a in VideoOrientation.all {
            #expect(VideoOrientation(tag: a.tag) == a && VideoOrientation(code: a.code) == a)
            #expect(a.followed(by: a.inverse) == .upright && a.inverse.followed(by: a) == .upright)
            try first.set("video-direction", to: a.videoDirection)
            for b in VideoOrientation.all {
                try second.set("video-direction", to: b.videoDirection)
                try both.set("video-direction", to: a.followed(by: b).videoDirection)
                let between = try first.apply(Buffer(Array(0..<24)), caps: caps)
                let apart = try second.apply(between, caps: first.outputCaps!)
                let atOnce = try both.apply(Buffer(Array(0..<24)), caps: caps)
                #expect(apart.access.bytes == atOnce.access.bytes, "\(a.tag), \(b.tag)")
            }
        }
        #expect(VideoOrientation(tag: "rotate-45") == nil && VideoOrientation(code: 45) == nil)
    }

    // MARK: The tag

    @Test(
        "RP-13 frames are turned upright by their stream's orientation tag, like videoflip does",
        arguments: VideoOrientation.all)
    func upright(orientation: VideoOrientation) async throws {
        let expected = try await frames("\(Self.stream(orientation)) ! videoflip video-direction=auto ! appsink name=p")
        let upright = try await frames("\(Self.stream(orientation)) ! rawdatapipe name=p apply-rotation=true")
        #expect(upright.map(\.bytes) == expected.map(\.bytes) && upright.count == 2)
        #expect(upright.allSatisfy { $0.orientation == "0 none" })
        #expect(upright.allSatisfy { ($0.width, $0.height) == (orientation.swapsSides ? (16, 24) : (24, 16)) })
    }

    @Test(
        "RP-13 a stream's orientation tag becomes each frame's rotation and flip, in each node",
        arguments: VideoOrientation.all)
    func inEachNode(orientation: VideoOrientation) async throws {
        let graph = try Graph(
            """
            \(Self.stream(orientation)) ! preprocessor name=e ! frameobserver name=o ! tee name=t allow-not-linked=true
            t. ! queue ! rawdatapipe name=p
            t. ! queue ! rawdatapipe name=n buffer-type=native
            t. ! queue ! appsink name=s
            t. ! queue ! vp8enc deadline=1 ! rawdatapipe name=c buffer-type=encoded
            """)
        let seen = Log<String>()
        let kept = Log<OwnedVideoFrame>()
        try graph.preprocessor("e").process { frame in
            seen.add("e \(Seen(frame).orientation)")
            return .pass
        }
        try graph.frameObserver("o").attach(
            ObserverHarness.Observer { frame in
                seen.add("o \(Seen(frame).orientation)")
                return .pass
            })
        for pipe in ["p", "s"] {
            try graph.rawDataPipe(pipe).receive { frame in
                seen.add("\(pipe) \(Seen(frame).orientation)")
                if pipe == "p" { kept.add(try frame.retain()) }
            }
        }
        try graph.rawDataPipe("n").receiveNative { seen.add("n \($0.rotation.rawValue) \($0.flip)") }
        try graph.rawDataPipe("c").receiveEncoded { seen.add("c \($0.rotation.rawValue) \($0.flip)") }
        try await graph.run()
        let expected = "\(orientation.degrees) \(orientation.isFlipped ? Flip.x : .none)"
        #expect(
            seen.all.sorted()
                == ["c", "e", "n", "o", "p", "s"].flatMap { ["\($0) \(expected)", "\($0) \(expected)"] })
        let later = try kept.all.map { try $0.withFrame { Seen($0).orientation } }
        #expect(
            later == [expected, expected]
                && kept.all.allSatisfy { "\($0.rotation.rawValue) \($0.flip)" == expected })
    }

    @Test("RP-13 an observer can get upright frames, and its edits reach the stream at the right pixels")
    func edited() async throws {
        for orientation in VideoOrientation.all {
            let graph = try Graph(
                """
                \(Self.stream(orientation, format: "RGBA")) ! frameobserver name=o mode=read-write !
                rawdatapipe name=p format=RGBA apply-rotation=true
                """)
            let (shown, seen) = (Log<Seen>(), Log<Seen>())
            try graph.frameObserver("o").attach(
                ObserverHarness.Editor(preference: FramePreference(format: .rgba, appliesRotation: true)) { frame in
                    var plane = try frame.mutablePlane(.packed)
                    plane.fill(rows: 0..<4, with: 200)
                    shown.add(Seen(frame))
                    return .pass
                })
            try graph.rawDataPipe("p").receive { seen.add(Seen($0)) }
            try await graph.run()
            #expect(seen.all == shown.all && seen.all.count == 2, "\(orientation.tag)")
            #expect(shown.all.allSatisfy { $0.orientation == "0 none" && $0.bytes[0] == 200 })
        }
    }

    @Test("RP-13 a frame's meta overrides the stream's tag, which overrides the global tag")
    func precedence() throws {
        let seen = Log<String>()
        struct Receiver: VideoConsumer {
            let seen: Log<String>
            func receive(_ frame: borrowing VideoFrame) { seen.add(Seen(frame).orientation) }
        }
        let element = try #require(Element(factory: "rawdatapipe"))
        try NodeVTable.attach(Receiver(seen: seen), to: element)
        let harness = Harness(element, sink: "sink", source: nil)
        harness.setLive(false)
        func push(_ own: VideoOrientation? = nil) {
            let buffer = Buffer([UInt8](repeating: 0, count: 16))
            own?.mark(buffer.access)
            harness.push(buffer)
        }
        harness.setSourceCaps("video/x-raw,format=I420,width=2,height=2,framerate=30/1")
        harness.push(.orientation("rotate-180", isGlobal: true))
        push()
        harness.push(.orientation("flip-rotate-90"))
        push()
        harness.push(.orientation("rotate-180", isGlobal: true))
        push()
        push(VideoOrientation(.clockwise270))
        push(.upright)
        harness.push(.streamStart("another"))
        harness.setSourceCaps("video/x-raw,format=I420,width=2,height=2,framerate=15/1")
        push()
        #expect(seen.all == ["180 none", "90 x", "90 x", "270 none", "0 none", "0 none"])
    }

    // MARK: Turning only once

    @Test("RP-13 frames that a stock videoflip has turned by their tag aren't turned again", arguments: [false, true])
    func turnedUpstream(isQueued: Bool) async throws {
        for orientation in VideoOrientation.all {
            let turned = "\(Self.stream(orientation)) ! videoflip video-direction=auto ! \(isQueued ? "queue !" : "")"
            let expected = try await frames("\(turned) appsink name=p")
            for node in ["rawdatapipe name=p", "rawdatapipe name=p apply-rotation=true"] {
                let seen = try await frames("\(turned) \(node)")
                #expect(seen == expected && seen.count == 2, "\(orientation.tag), \(node)")
                #expect(seen.allSatisfy { $0.orientation == "0 none" })
            }
        }
        // A tag that is added behind the videoflip still applies.
        let later = try await frames(
            """
            videotestsrc num-buffers=1 ! video/x-raw,width=24,height=16 ! videoflip video-direction=auto !
            taginject tags=image-orientation=rotate-90 ! rawdatapipe name=p apply-rotation=true
            """)
        #expect(later.map(\.width) == [16])
    }

    /// Sends a frame of each rotation from a source that marks it in a meta, and in tags if `tagged`.
    private func rotated(_ tagged: Bool, through nodes: String) async throws -> [Seen] {
        let graph = try Graph("videosource name=in pace=fast rotation-tag=\(tagged) ! \(nodes)")
        let frames = Rotation.allCases.map { rotation in
            var frame = TestFrame(
                .i420, width: 24, height: 16, bytes: patternedFrame(width: 24, height: 16, seed: 3))
            frame.rotation = rotation
            return frame
        }
        try graph.videoSource("in").attach(FrameListSource(frames))
        let seen = Log<Seen>()
        try graph.rawDataPipe("p").receive { seen.add(Seen($0)) }
        try await graph.run()
        return seen.all
    }

    @Test(
        "RP-13 frames with both a meta and a tag are turned once, by the pipe or by videoflip",
        arguments: [false, true])
    func both(tagged: Bool) async throws {
        let upright = try await rotated(tagged, through: "rawdatapipe name=p apply-rotation=true")
        #expect(upright.map(\.width) == [24, 16, 24, 16] && upright.allSatisfy { $0.orientation == "0 none" })
        let unturned = try await rotated(tagged, through: "rawdatapipe name=p")
        #expect(unturned.map(\.orientation) == ["0 none", "90 none", "180 none", "270 none"])
        let flipped = try await rotated(
            tagged, through: "videoflip video-direction=auto ! rawdatapipe name=p apply-rotation=true")
        #expect(flipped == upright)
        let byVideoflip = try await rotated(tagged, through: "videoflip video-direction=auto ! rawdatapipe name=p")
        #expect(byVideoflip == (tagged ? upright : unturned))
    }

    // MARK: `upright`

    @Test("RP-13 upright turns any stream by tag and meta, and elements behind it don't turn it again")
    func uprightElement() async throws {
        for orientation in VideoOrientation.all {
            let stream = Self.stream(orientation)
            let expected = try await frames("\(stream) ! videoflip video-direction=auto ! appsink name=p")
            for nodes in ["", "upright !", "videoflip video-direction=auto !"] {
                let seen = try await frames("\(stream) ! upright ! \(nodes) rawdatapipe name=p apply-rotation=true")
                #expect(seen == expected && seen.count == 2, "\(orientation.tag), \(nodes)")
            }
        }
        let expected = try await rotated(false, through: "rawdatapipe name=p apply-rotation=true")
        for tagged in [false, true] {
            for nodes in ["", "upright !", "videoflip video-direction=auto !"] {
                let seen = try await rotated(tagged, through: "upright ! \(nodes) rawdatapipe name=p")
                #expect(seen == expected, "\(tagged), \(nodes)")
            }
        }
    }

    @Test("RP-13 upright sends the tag rotate-0, and adjusts a frame's flip to the turned frame")
    func uprightTags() throws {
        let element = try #require(Element(factory: "upright"))
        let harness = Harness(element, sink: "sink", source: "src")
        harness.setSourceCaps("video/x-raw,format=I420,width=8,height=4,framerate=30/1")
        harness.push(.orientation("flip-rotate-90"))
        let buffer = Buffer([UInt8](repeating: 9, count: 48))
        Flip.meta.set(Flip.x.rawValue, on: buffer.access)
        harness.push(buffer)
        guard let turned = harness.pull() else {
            Issue.record("no frame came out")
            return
        }
        #expect(Set(harness.pulledTags("image-orientation")) == ["rotate-0"])
        #expect(Flip(of: turned.access) == .y && Rotation(of: turned.access) == .none)
    }

    @Test("RP-13 upright refuses to turn interlaced frames, and names the element to put before it")
    func interlaced() async throws {
        let stream = "videotestsrc num-buffers=1 ! video/x-raw,width=24,height=16 ! interlace top-field-first=true"
        let tagged = "\(stream) ! taginject tags=image-orientation=rotate-90"
        let problem = try await failure(of: "\(tagged) ! upright ! fakesink")
        #expect(problem?.contains("interlaced frames can't be turned") == true, "\(problem ?? "no error")")
        #expect(problem?.contains("deinterlace") == true)
        #expect(try await failure(of: "\(stream) ! upright ! fakesink") == nil)
    }

    // MARK: Sessions

    @Test("RP-13 a session's members get the camera's tagged orientation, mirrored as an upright frame")
    func sessionOrientation() async throws {
        for orientation in VideoOrientation.all {
            let room = "\(#function) \(orientation.tag)"
            let alice = try MediaGraphTests.session("alice", room) {
                $0.camera = """
                    videotestsrc is-live=true ! video/x-raw,width=32,height=16 !
                    taginject tags=image-orientation=\(orientation.tag)
                    """
                $0.mirrorMode = .previewOnly
            }
            let bob = try MediaGraphTests.session("bob", room)
            let (own, remote) = (Log<String>(), Log<String>())
            let preview = PipeLog { own.add(Seen($0).orientation) }
            let pipe = PipeLog { remote.add(Seen($0).orientation) }
            try alice.preview.subscribe(preview, resolution: .p90)
            for session in [bob, alice] { try await session.join() }
            #expect(waitUntil { bob.remoteUsers.count == 1 })
            try bob.user("alice").videoPipe.subscribe(pipe, resolution: .p90)
            #expect(waitUntil { preview.count > 0 && pipe.count > 0 })
            let mirror = Flip.x.turned(by: orientation)
            #expect(Set(own.all) == ["\(orientation.degrees) \(orientation.flip ^ mirror)"])
            #expect(Set(remote.all) == ["\(orientation.degrees) \(orientation.flip)"])
            for session in [alice, bob] { await session.leave() }
        }
    }

    @Test("RP-13 a frame's orientation, including its flip, is sent between processes")
    func processes() {
        for orientation in VideoOrientation.all {
            let sent = Buffer([1, 2])
            let received = Buffer([1, 2])
            orientation.mark(sent.access)
            SharedBuffer(sent.access, in: 1, capacity: 2, timing: nil).describe(received.access)
            #expect(VideoOrientation(of: received.access) ?? .upright == orientation)
        }
    }
}
