import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

@Suite struct VideoSourceTests {
    /// Returns a graph whose node `src` has `source` attached, and that node's element.
    private func graph(
        _ rest: String, source: RecordingSource, pace: String = "fast"
    ) throws -> (Graph, Element) {
        let graph = try Graph("videosource name=src pace=\(pace) max-frames=8 ! \(rest)")
        try graph.videoSource("src").attach(source)
        return (graph, try graph.element("src"))
    }

    // MARK: VS-1

    @Test("VS-1 a source's calls come once a cycle: initialize, startSend, stopSend, uninitialize")
    func lifecycle() throws {
        let source = RecordingSource()
        let (graph, _) = try graph("fakesink name=sink", source: source)
        let pipeline = graph.pipeline
        for state in [State.ready, .paused, .playing, .paused, .playing, .paused, .ready, .null] {
            #expect(pipeline.setState(state) != .failure)
        }
        #expect(
            source.calls.all == [
                "initialize", "startSend", "stopSend", "startSend", "stopSend", "uninitialize",
            ])
        pipeline.setState(.playing)
        pipeline.setState(.null)
        #expect(source.calls.all.suffix(4) == ["initialize", "startSend", "stopSend", "uninitialize"])
    }

    @Test("VS-1 READY to PAUSED returns NO_PREROLL at each pace", arguments: ["live", "fast"])
    func noPreroll(pace: String) throws {
        let (graph, element) = try graph("fakesink", source: RecordingSource(), pace: pace)
        element.setState(.ready)
        #expect(element.setState(.paused) == .noPreroll)
        graph.pipeline.setState(.null)
    }

    @Test("VS-1 a graph whose source sends no frame reaches PLAYING")
    func reachesPlayingWithoutFrames() async throws {
        let (graph, _) = try graph("rawdatapipe", source: RecordingSource())
        try await graph.start()
        #expect(graph.pipeline.waitForState(timeout: .seconds(60)).state == .playing)
        await graph.stop()
    }

    @Test("VS-1 a latency query is answered as live at the live pace, and as not live at the fast pace")
    func latency() throws {
        for pace in ["live", "fast"] {
            let (graph, element) = try graph("fakesink", source: RecordingSource(), pace: pace)
            graph.pipeline.setState(.playing)
            let sink = try #require(graph.pipeline.elements.first { $0.factoryName == "fakesink" })
            #expect(sink.staticPad("sink")?.upstreamLatency()?.isLive == (pace == "live"))
            #expect(element.state == .playing)
            graph.pipeline.setState(.null)
        }
    }

    // MARK: VS-2

    private static let declared = [
        VideoCapability(width: 320, height: 240, framesPerSecond: Fraction(30, 1)),
        VideoCapability(width: 1280, height: 720, framesPerSecond: Fraction(15, 1)),
        VideoCapability(width: 1280, height: 720, framesPerSecond: Fraction(30, 1)),
        VideoCapability(width: 1920, height: 1080, framesPerSecond: Fraction(30, 1)),
    ]

    @Test("VS-2 `supported` is what the source declares and downstream takes, and the largest is suggested")
    func intersection() throws {
        let source = RecordingSource(capabilities: Self.declared)
        let (graph, _) = try graph(
            "video/x-raw,width=[1,1280],height=[1,720],framerate=[20/1,30/1] ! fakesink", source: source)
        graph.pipeline.setState(.ready)
        #expect(source.supported == [Self.declared[0], Self.declared[2]])
        #expect(source.suggested == Self.declared[2])
        graph.pipeline.setState(.null)
    }

    @Test("VS-2 the suggested capability is the largest by area, then by rate")
    func suggestion() throws {
        let source = RecordingSource(capabilities: Array(Self.declared.dropLast()))
        let (graph, _) = try graph("fakesink", source: source)
        graph.pipeline.setState(.ready)
        #expect(source.suggested == Self.declared[2])
        graph.pipeline.setState(.null)
    }

    @Test("VS-2 a source without capabilities gets 90p to 2160p at 15, 30 and 60, as downstream allows")
    func undeclared() throws {
        let source = RecordingSource()
        let (graph, _) = try graph("fakesink", source: source)
        graph.pipeline.setState(.ready)
        #expect(Set(source.supported.map(\.height)) == [90, 180, 360, 720, 1080, 2160])
        #expect(Set(source.supported.map(\.framesPerSecond.numerator)) == [15, 30, 60])
        graph.pipeline.setState(.null)

        let narrow = RecordingSource()
        let (second, _) = try self.graph("video/x-raw,width=404,height=720,framerate=25/1 ! fakesink", source: narrow)
        second.pipeline.setState(.ready)
        #expect(narrow.supported == [VideoCapability(width: 404, height: 720, framesPerSecond: Fraction(25, 1))])
        second.pipeline.setState(.null)
    }

    @Test("VS-2 downstream's later caps are reported by propertyChange, while sending goes on")
    func propertyChange() throws {
        let source = RecordingSource(capabilities: Self.declared)
        let (graph, _) = try graph("capsfilter name=filter caps=video/x-raw,height=[1,1080] ! fakesink", source: source)
        graph.pipeline.setState(.playing)
        let frame = FrameDescription(width: 320, height: 240)
        try sendNow(source.sender, patternedFrame(width: 320, height: 240), frame)
        #expect(source.suggested?.height == 1080)
        try graph.element("filter").setProperty("caps", parsing: "video/x-raw,height=[1,720]")
        try sendNow(source.sender, patternedFrame(width: 320, height: 240), frame)
        // The streaming thread makes the call, some time later.
        #expect(waitUntil { source.suggested?.height == 720 })
        #expect(source.calls.all.contains("propertyChange"))
        graph.pipeline.setState(.null)
    }

    // MARK: VS-4

    @Test("VS-4 frames before startSend and after stopSend are refused, counted and never delivered")
    func gate() async throws {
        let received = Log<Int>()
        let early = Log<MediaGraphError>()
        let bytes = patternedFrame(width: 16, height: 16)
        let frame = FrameDescription(width: 16, height: 16)
        let source = RecordingSource(onInitialize: { sender in
            do throws(MediaGraphError) { try sender.send(bytes, frame) } catch { early.add(error) }
        })
        let (graph, _) = try graph("rawdatapipe name=pipe", source: source)
        try graph.rawDataPipe("pipe").receive { received.add($0.width) }
        try await graph.start()
        try sendNow(source.sender, bytes, frame)
        await graph.finish()
        #expect(throws: MediaGraphError.self) { try sendNow(source.sender, bytes, frame) }
        guard case .wrongUsage(let detail)? = early.all.first else {
            Issue.record("expected wrongUsage, got \(early.all)")
            return
        }
        #expect(detail.actual.hasPrefix("is only possible between startSend and stopSend"))
        #expect(received.all == [16])
        #expect(try graph.videoSource("src").statistics.refused == 2)
    }

    @Test("VS-4 a frame sent inside startSend is accepted without waiting", arguments: ["live", "fast"])
    func insideStartSend(pace: String) async throws {
        let bytes = patternedFrame(width: 16, height: 16)
        let source = RecordingSource(onStart: { sender in
            // The queue holds 8 frames. If sending blocked here, PLAYING would never be reached.
            for index in 0..<20 {
                try sender.send(
                    bytes,
                    FrameDescription(
                        width: 16, height: 16, timestamp: .milliseconds(UInt64(index))))
            }
        })
        let received = Log<Int>()
        let (graph, _) = try graph("rawdatapipe name=pipe", source: source, pace: pace)
        try graph.rawDataPipe("pipe").receive { received.add($0.height) }
        try await graph.start()
        source.sender.endOfStream()
        _ = try await graph.waitUntilEnd()
        await graph.stop()
        #expect(!received.all.isEmpty)
        #expect(try graph.videoSource("src").statistics.frames == 20)
    }

    @Test("VS-4 a sender that outlives its graph refuses frames")
    func outlives() async throws {
        let source = RecordingSource()
        do {
            let (graph, _) = try graph("fakesink", source: source)
            try await graph.start()
            await graph.stop()
        }
        #expect(throws: MediaGraphError.self) {
            try sendNow(source.sender, patternedFrame(width: 2, height: 2), FrameDescription(width: 2, height: 2))
        }
    }

    // MARK: VS-5

    @Test("VS-5 wrong lengths, sizes and ratios are refused with the valid values")
    func validation() async throws {
        let source = RecordingSource()
        let (graph, _) = try graph("fakesink", source: source)
        try await graph.start()
        func refusal(_ length: Int, _ frame: FrameDescription) -> String {
            do {
                try sendNow(source.sender, [UInt8](repeating: 0, count: length), frame)
                return "accepted"
            } catch { return "\(error.code): \(error)" }
        }
        #expect(
            refusal(100, FrameDescription(width: 4, height: 4))
                == "invalidParameter: dataLength: expected 24 bytes for 4×4 I420, got 100")
        #expect(
            refusal(26, FrameDescription(width: 5, height: 3))
                == "invalidParameter: dataLength: expected 27 bytes for 5×3 I420, got 26")
        #expect(refusal(27, FrameDescription(width: 5, height: 3)) == "accepted")
        #expect(
            refusal(0, FrameDescription(width: 0, height: 4))
                == "invalidParameter: frame size: expected 1×1 to 16384×16384, got 0×4")
        #expect(
            refusal(24, FrameDescription(width: -4, height: 4))
                == "invalidParameter: frame size: expected 1×1 to 16384×16384, got -4×4")
        #expect(
            refusal(24, FrameDescription(width: Int.max, height: Int.max)).hasPrefix("invalidParameter: frame size"))
        #expect(
            refusal(24, FrameDescription(width: 4, height: 4, format: FrameFormat(.bgra)))
                == "invalidParameter: dataLength: expected 64 bytes for 4×4 BGRA, got 24")
        #expect(
            refusal(24, FrameDescription(width: 4, height: 4, framesPerSecond: Fraction(-1, 1)))
                .hasPrefix("invalidParameter: rate and pixel aspect ratio"))
        await graph.stop()
    }

    @Test("VS-5 sendVideoFrame takes the SDKs' arguments")
    func sdkShape() async throws {
        let source = RecordingSource()
        let (graph, _) = try graph("rawdatapipe name=pipe", source: source)
        let seen = Log<[UInt8]>()
        try graph.rawDataPipe("pipe").receive { seen.add($0.packedBytes + [UInt8($0.rotation.rawValue / 90)]) }
        try await graph.start()
        let bytes = patternedFrame(width: 8, height: 6)
        func send(_ length: Int) throws {
            try bytes.withUnsafeBytes {
                try source.sender.sendVideoFrame(
                    $0.baseAddress!, width: 8, height: 6, dataLength: length, rotation: .clockwise270)
            }
        }
        try send(8 * 6 * 3 / 2)
        #expect(throws: MediaGraphError.self) { try send(8 * 6) }
        await graph.finish()
        #expect(seen.all == [bytes + [3]])
    }

    @Test("VS-5 the range is full by default, can change within a stream, and is in the caps")
    func ranges() async throws {
        let source = RecordingSource()
        let (graph, _) = try graph("rawdatapipe name=pipe", source: source)
        let ranges = Log<Colorimetry.Range>()
        try graph.rawDataPipe("pipe").receive { ranges.add($0.colorRange) }
        try await graph.start()
        for format in [FrameFormat.i420, .i420Limited, .i420Limited, .i420] {
            try sendNow(
                source.sender, patternedFrame(width: 16, height: 16),
                FrameDescription(width: 16, height: 16, format: format))
        }
        await graph.finish()
        #expect(ranges.all == [.full, .limited, .limited, .full])
    }

    // MARK: VS-6

    @Test("VS-6 packed I420 frames of each size from 2×2 to 33×33 and of large ones arrive byte for byte")
    func packedSizes() async throws {
        var sizes = (2...33).flatMap { width in (2...33).map { (width, $0) } }
        sizes += [(404, 720), (426, 240), (641, 361), (1279, 719), (1920, 1080), (4096, 2160)]
        let source = RecordingSource()
        let (graph, _) = try graph("rawdatapipe name=pipe", source: source)
        let frames = try graph.rawDataPipe("pipe").frames
        try await graph.start()
        let sending = Task.detached { [sizes] in
            await withCheckedContinuation { done in
                _ = NativeThread("sender") {
                    for (index, size) in sizes.enumerated() {
                        let bytes = patternedFrame(width: size.0, height: size.1, seed: index)
                        try? sendRepeatedlyNow(
                            source.sender, bytes, FrameDescription(width: size.0, height: size.1))
                    }
                    source.sender.endOfStream()
                    done.resume()
                }
            }
        }
        var index = 0
        for try await frame in frames {
            let (width, height) = sizes[index]
            let expected = patternedFrame(width: width, height: height, seed: index)
            #expect(frame.width == width && frame.height == height)
            let isSame = try frame.packedBytes() == expected
            #expect(isSame, "\(width)×\(height)")
            index += 1
        }
        #expect(index == sizes.count)
        await sending.value
        await graph.stop()
    }

    @Test("VS-6 elements without support for GstVideoMeta get GStreamer's own layout")
    func stockLayout() async throws {
        // For I420 with 404 columns, GStreamer pads chroma rows to 204 bytes, which videoconvert must read correctly.
        let source = RecordingSource()
        let (graph, _) = try graph(
            "identity ! videoconvert ! video/x-raw,format=NV12 ! rawdatapipe name=pipe format=NV12", source: source)
        let seen = Log<[UInt8]>()
        try graph.rawDataPipe("pipe").receive { seen.add($0.packedBytes) }
        try await graph.start()
        let i420 = patternedFrame(width: 404, height: 2)
        try sendNow(source.sender, i420, FrameDescription(width: 404, height: 2))
        await graph.finish()
        let luma = Array(i420[0..<808])
        let chroma: [UInt8] = zip(i420[808...], i420[1010...]).flatMap { [$0, $1] }
        let expected: [UInt8] = luma + chroma
        #expect(seen.all == [expected])
    }

    @Test("memory that a source hands over is released exactly once, whether accepted or refused")
    func ownership() async throws {
        let source = RecordingSource()
        let (graph, _) = try graph("fakesink", source: source)
        try await graph.start()
        let released = Atomic<Int>(0)
        func send(_ length: Int, _ width: Int) {
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 16)
            let box = Unmanaged.passRetained(
                Release {
                    memory.deallocate(); released.add(1, ordering: .relaxed)
                })
            try? source.sender.send(
                owning: memory, FrameDescription(width: width, height: 16),
                release: { Unmanaged<Release>.fromOpaque($0!).takeRetainedValue().body() }, context: box.toOpaque())
        }
        send(16 * 16 * 3 / 2, 16)
        send(18 * 16 * 3 / 2, 18)  // Copied: GStreamer pads this width.
        send(10, 16)  // Refused: too short.
        await graph.finish()
        send(16 * 16 * 3 / 2, 16)  // Refused: after stopSend.
        #expect(released.load(ordering: .relaxed) == 4)
    }
}

private final class Release {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
}
