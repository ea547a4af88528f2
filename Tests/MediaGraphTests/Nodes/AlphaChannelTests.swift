import GStreamer
import MediaGraph
import MediaGraphTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct AlphaChannelTests {
    init() throws { try Nodes.register() }

    /// Returns a frame whose left half is pure green and whose right half is red.
    private static func screen(width: Int = 64, height: Int = 32) throws -> TestFrame {
        var frame = TestFrame(.init(.rgba), width: width, height: height, filledWith: 255)
        for y in 0..<height {
            for x in 0..<width {
                frame[.packed, x, y, 0] = x < width / 2 ? 0 : 255
                frame[.packed, x, y, 1] = x < width / 2 ? 255 : 0
                frame[.packed, x, y, 2] = 0
            }
        }
        return try frame.converted(to: .i420Limited)
    }

    private static let caps = "video/x-raw,format=I420,width=64,height=32,framerate=30/1"

    private func harness(_ properties: (String, String)...) throws -> Harness {
        let element = try #require(Element(factory: "alphachannel"))
        for (name, value) in properties { try element.setProperty(name, parsing: value) }
        return Harness(element, sink: "sink", source: "src")
    }

    /// Expects that the green half is transparent and the other one isn't.
    private func expectMask(_ frame: TestFrame) throws {
        let alpha = try #require(frame.plane(.alpha))
        #expect(alpha.count == frame.width * frame.height)
        // At the border the chroma is mixed.
        for y in 0..<frame.height {
            for x in 0..<frame.width where abs(x - frame.width / 2) > 3 {
                guard (frame[.alpha, x, y] < 10) != (x < frame.width / 2) else { continue }
                Issue.record("alpha \(frame[.alpha, x, y]) at \(x),\(y)")
                return
            }
        }
    }

    @Test("AL-1 permission, support and state of the alpha channel are reported correctly")
    func order() throws {
        let graph = try Graph("videotestsrc ! alphachannel name=a ! fakesink")
        let alpha = try graph.alphaChannel("a")
        #expect(alpha.canEnable && alpha.isSupported && !alpha.isEnabled)
        try alpha.enable(true)
        #expect(alpha.isEnabled)
        try alpha.enable(false)
        #expect(!alpha.isEnabled)
    }

    @Test("AL-1 enabling without permission is a typed error, and losing permission disables alpha")
    func permission() throws {
        let graph = try Graph("videotestsrc ! alphachannel name=a permitted=false ! fakesink")
        let alpha = try graph.alphaChannel("a")
        #expect(!alpha.canEnable)
        let error = #expect(throws: MediaGraphError.self) { try alpha.enable(true) }
        #expect(error?.code == .notPermitted && !alpha.isEnabled)
        try alpha.set("permitted", to: true)
        try alpha.enable(true)
        try alpha.set("permitted", to: false)
        #expect(!alpha.isEnabled)
    }

    @Test(
        "AL-1 enabling with a missing mask, or one without alpha, is a typed error with the reason",
        arguments: [
            ("nosuchmask", "no element \"nosuchmask\""), ("jpegenc", "can't be negotiated"),
            ("fakesink", "needs exactly one unlinked sink pad and one unlinked src pad"),
        ])
    func unsupported(mask: String, reason: String) throws {
        let element = try #require(Element(factory: "alphachannel"))
        try element.setProperty("mask", to: mask)
        #expect(try !element.property("supported", as: Bool.self))
        let graph = try Graph("videotestsrc ! alphachannel name=a ! fakesink")
        let alpha = try graph.alphaChannel("a")
        try alpha.set("mask", to: mask)
        #expect(!alpha.isSupported)
        let error = #expect(throws: MediaGraphError.self) { try alpha.enable(true) }
        #expect(error?.code == .unsupported && !alpha.isEnabled)
        #expect("\(error!)".hasPrefix("mask \"\(mask)\" doesn't make an alpha plane: "), "\(error!)")
    }

    @Test("AL-1 a graph whose mask can't work doesn't start and gives the reason")
    func refusedStart() async throws {
        let graph = try Graph("videotestsrc num-buffers=1 ! alphachannel name=a enabled=true ! fakesink")
        try graph.alphaChannel("a").set("mask", to: "nosuchmask")
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(error!)".contains("nosuchmask"), "\(error!)")
    }

    @Test("AL-1 an unknown element in a mask is found by the description's check")
    func checked() {
        let error = #expect(throws: GraphError.self) {
            try Graph("videotestsrc ! alphachannel mask=\"alpah method=green\" ! fakesink")
        }
        #expect("\(error!)".contains("in mask: no element \"alpah\""), "\(error!)")
    }

    @Test("AL-1 enabling is refused if downstream takes no alpha, and frames go on without it")
    func downstream() throws {
        let harness = try harness()
        harness.setSinkCaps(Self.caps)
        harness.setSourceCaps(Self.caps)
        let frame = try Self.screen()
        #expect(harness.push(frame.bytes) == .ok)
        let error = #expect(throws: PropertyError.self) { try harness.element.setProperty("enabled", to: true) }
        #expect("\(error!)".contains("downstream doesn't accept A420"), "\(error!)")
        #expect(harness.push(frame.bytes) == .ok)
    }

    @Test("AL-2 while on, frames have an alpha plane of their size, and while off, buffers pass untouched")
    func planes() throws {
        let harness = try harness()
        harness.setSourceCaps(Self.caps)
        let frame = try Self.screen()
        let buffer = Buffer(frame.bytes)
        let address = buffer.address
        harness.push(buffer)
        guard let off = harness.pull() else {
            Issue.record("no frame came out")
            return
        }
        #expect(off.address == address && off.bytes == frame.bytes)
        try harness.element.setProperty("enabled", to: true)
        harness.push(frame.bytes)
        guard let on = harness.pull() else {
            Issue.record("no frame came out")
            return
        }
        try expectMask(TestFrame(FrameFormat(.a420, range: .limited), width: 64, height: 32, bytes: on.bytes))
    }

    @Test("AL-2 a frame's alpha is nil if it has none, and otherwise has exactly the frame's size")
    func absent() throws {
        struct Look: VideoProcessor {
            var areas: [Int?] = []
            mutating func process(_ frame: inout VideoFrame) throws -> Verdict {
                guard let alpha = frame.alpha else {
                    areas.append(nil)
                    return .pass
                }
                #expect(alpha.width == frame.width && alpha.height == frame.height && alpha.pixelStride == 1)
                areas.append(alpha.byteCount)
                return .pass
            }
        }
        var harness = ProcessorHarness(Look())
        for (width, height) in [(1, 1), (3, 3), (64, 36), (641, 361)] {
            for format in VideoFormat.allCases {
                try harness.process(TestFrame(.init(format), width: width, height: height, filledWith: 9))
                let expected: Int? = format == .a420 ? width * height : nil
                #expect(harness.processor.areas.last == .some(expected), "\(format)")
            }
        }
    }

    @Test("AL-4 without a mask the input's alpha passes unchanged, and is removed while off")
    func upstream() throws {
        for format in [VideoFormat.a420, .rgba] {
            let harness = try harness(("mask", "\"\""), ("enabled", "true"))
            harness.setSourceCaps("video/x-raw,format=\(format.gstreamerName),width=64,height=32,framerate=30/1")
            let frame = TestFrame.noise(FrameFormat(format, range: .limited), width: 64, height: 32)
            #expect(harness.push(frame.bytes) == .ok)
            guard let out = harness.pull() else {
                Issue.record("no frame came out")
                return
            }
            let result = TestFrame(FrameFormat(.a420, range: .limited), width: 64, height: 32, bytes: out.bytes)
            let expected = frame.plane(.alpha) ?? stride(from: 3, to: frame.bytes.count, by: 4).map { frame.bytes[$0] }
            #expect(result.plane(.alpha) == expected)
            if format == .a420 { #expect(result.bytes == frame.bytes) }
            try harness.element.setProperty("enabled", to: false)
            #expect(harness.push(frame.bytes) == .ok)
            guard let off = harness.pull() else {
                Issue.record("no frame came out")
                return
            }
            #expect(off.bytes.count == 64 * 32 * 3 / 2)
        }
    }

    @Test("AL-4 without a mask and without alpha in the input, alpha isn't supported")
    func noUpstreamAlpha() throws {
        let graph = try Graph("videotestsrc ! video/x-raw,format=I420 ! alphachannel name=a mask=\"\" ! fakesink")
        #expect(try !graph.alphaChannel("a").isSupported)
        let other = try Graph("videotestsrc ! video/x-raw,format=RGBA ! alphachannel name=a mask=\"\" ! fakesink")
        #expect(try other.alphaChannel("a").isSupported)
    }

    @Test("AL-4 alpha that is enabled without a mask on frames without alpha is an error that says so")
    func noAlphaAtStart() async throws {
        let graph = try Graph(
            "videotestsrc num-buffers=1 ! video/x-raw,format=I420 ! alphachannel mask=\"\" enabled=true ! fakesink")
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(error!)".contains("frames have no alpha, and no mask is set"), "\(error!)")
    }

    @Test("AL-4 a mask doesn't change the range of the values")
    func range() async throws {
        let frames = [VideoFormat.i420, .nv12].map { format in
            (0..<1).map { _ in TestFrame.noise(.init(format, range: .full), width: 32, height: 16, in: 0...255) }
        }
        for frames in frames {
            let graph = try Graph(
                """
                videosource name=in pace=fast ! alphachannel mask="alpha method=set alpha=0.5" enabled=true !
                rawdatapipe name=out format=A420
                """)
            let collector = FrameCollector()
            try graph.videoSource("in").attach(FrameListSource(frames))
            try graph.rawDataPipe("out").attach(collector)
            try await graph.run()
            let result = try #require(collector.frames.first)
            #expect(result.format == FrameFormat(.a420, range: .full))
            #expect(result.plane(.y) == frames[0].plane(.y))
            #expect(result.plane(.alpha)?.allSatisfy { 127...128 ~= $0 } == true)
        }
    }

    @Test("AL-3 each toggle is announced once, between the frames, as an event and as a message")
    func announced() async throws {
        let harness = try harness()
        let frame = try Self.screen()
        harness.setSourceCaps(Self.caps)
        harness.push(frame.bytes)
        var seen = [harness.pulledEvents()]
        for on in [true, true, false, true] {
            try harness.element.setProperty("enabled", to: on)
            // Two changes between two frames cancel each other out.
            if !on {
                try harness.element.setProperty("enabled", to: true)
                try harness.element.setProperty("enabled", to: false)
            }
            harness.push(frame.bytes)
            seen.append(harness.pulledEvents().filter { $0 != "segment" })
        }
        #expect(seen[0] == ["stream-start", "caps", "segment"])
        let change = ["caps", "custom-downstream-sticky"]
        #expect(Array(seen.dropFirst()) == [change, [], change, change])

        let graph = try Graph(
            "videosource handler=counter pace=fast options=frames=40 ! alphachannel name=a ! rawdatapipe name=p format=A420"
        )
        let alpha = try graph.alphaChannel("a")
        let order = Log<String>()
        let toggles = Task { [events = graph.events] in
            for await event in events { if case .alphaChannel("a", let on) = event { order.add("\(on)") } }
        }
        let alphas = Log<UInt8?>()
        try graph.rawDataPipe("p").receive { frame in
            let number = try FrameNumber.read(frame)
            alphas.add(frame.alpha?.row(0)[0])
            if number % 10 == 9 { try alpha.enable(!alpha.isEnabled) }
        }
        try await graph.run()
        await toggles.value
        #expect(order.all == ["true", "false", "true"])
        #expect(alphas.all == (0..<40).map { $0 / 10 % 2 == 1 ? 255 : nil })
    }

    @Test("EL-2 EOS, GAP, FLUSH, SEGMENT and caps changes pass the alpha channel in order, on and off")
    func events() throws {
        for on in ["true", "false"] {
            let harness = try harness(("enabled", on))
            harness.pushStreamWithEveryEvent()
            #expect(
                harness.pulledEvents().filter { $0 != "custom-downstream-sticky" } == [
                    "stream-start", "caps", "segment", "caps", "segment", "gap", "flush-start", "flush-stop", "segment",
                    "eos",
                ])
        }
    }

    @Test("VS-7 frames that get an alpha plane keep their rotation and timestamps")
    func metas() async throws {
        var frame = try TestFrame.numbered(1, width: 64, height: 32)
        frame.rotation = .clockwise90
        let graph = try Graph(
            "videosource name=in pace=fast ! alphachannel enabled=true ! rawdatapipe name=out format=A420")
        let collector = FrameCollector()
        try graph.videoSource("in").attach(FrameListSource([frame]))
        try graph.rawDataPipe("out").attach(collector)
        try await graph.run()
        #expect(collector.frames.first?.rotation == .clockwise90)
        #expect(collector.frames.first?.timestamp == frame.timestamp)
    }
}

/// Tests frames with alpha in each kind of node.
@Suite(.timeLimit(.minutes(10))) struct AlphaNodesTests {
    private static let formats: [VideoFormat] = [.a420, .rgba, .bgra, .argb, .abgr]
    private static let sizes = [(1, 1), (2, 2), (3, 3), (426, 240), (641, 361)]

    @Test(
        "AL-2 frames with alpha pass source, pre-processor and pipe byte for byte, at odd sizes too",
        arguments: formats)
    func nodes(_ format: VideoFormat) async throws {
        for (width, height) in Self.sizes {
            let frames = (0..<3).map {
                TestFrame.noise(FrameFormat(format, range: .limited), width: width, height: height, seed: $0)
            }
            let graph = try Graph(
                """
                videosource name=in pace=fast ! preprocessor name=look ! rawdatapipe name=out \
                format=\(format.gstreamerName)
                """)
            let collector = FrameCollector()
            let planes = Log<[UInt8]>()
            try graph.videoSource("in").attach(FrameListSource(frames))
            try graph.preprocessor("look").process { frame in
                if format == .a420 { planes.add(TestFrame(frame).plane(.alpha)!) }
                return .pass
            }
            try graph.rawDataPipe("out").attach(collector)
            try await graph.run()
            #expect(collector.frames.map(\.bytes) == frames.map(\.bytes), "\(width)×\(height)")
            if format == .a420 { #expect(planes.all == frames.map { $0.plane(.alpha)! }) }
        }
    }

    @Test("AL-2 a pipe with format=A420 keeps RGBA's alpha, and has none if the input has none")
    func converted() async throws {
        for format in [VideoFormat.rgba, .i420, .nv12] {
            let frame = TestFrame.noise(FrameFormat(format, range: .limited), width: 33, height: 17, in: 16...235)
            let graph = try Graph("videosource name=in pace=fast ! rawdatapipe name=out format=A420")
            let collector = FrameCollector()
            try graph.videoSource("in").attach(FrameListSource([frame]))
            try graph.rawDataPipe("out").attach(collector)
            try await graph.run()
            let alpha = try #require(collector.frames.first).plane(.alpha)
            #expect(
                alpha
                    == (format == .rgba ? stride(from: 3, to: frame.bytes.count, by: 4).map { frame.bytes[$0] } : nil))
        }
    }
}
