import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements
@testable import MediaGraphHandlers

@Suite struct RawDataPipeTests {
    private func harness(_ configure: (Element) throws -> Void = { _ in }) throws -> Harness {
        try Nodes.register()
        let element = try #require(Element(factory: "rawdatapipe"))
        try configure(element)
        let harness = Harness(element, sink: "sink", source: nil)
        harness.setLive(false)
        return harness
    }

    struct Consumer: VideoConsumer {
        var onStatus: @Sendable (Bool) -> Void = { _ in }
        var onFinish: @Sendable () -> Void = {}
        var onFrame: @Sendable (borrowing VideoFrame) throws -> Void = { _ in }
        func statusChanged(isOn: Bool) { onStatus(isOn) }
        func receive(_ frame: borrowing VideoFrame) throws { try onFrame(frame) }
        func finish() { onFinish() }
    }

    // MARK: RP-2

    @Test(
        "RP-2 at most that height, aspect kept, square pixels, nearest width, never enlarged",
        arguments: [
            (1920, 1080, Fraction(1, 1), Resolution.p360, 640, 360), (426, 240, Fraction(1, 1), .p180, 320, 180),
            (404, 720, Fraction(1, 1), .p360, 202, 360), (405, 720, Fraction(1, 1), .p360, 203, 360),
            (640, 360, Fraction(1, 1), .p720, 640, 360), (720, 576, Fraction(16, 15), .p360, 480, 360),
            (720, 576, Fraction(16, 15), .p1080, 720, 540), (720, 480, Fraction(8, 9), .p1080, 640, 480),
            (1, 2160, Fraction(1, 1), .p90, 1, 90), (1920, 1080, Fraction(1, 1), .native, 1920, 1080),
        ] as [(Int, Int, Fraction, Resolution, Int, Int)])
    func resolutionSize(
        width: Int, height: Int, aspect: Fraction, resolution: Resolution, expectedWidth: Int, expectedHeight: Int
    ) throws {
        var info = try #require(VideoInfo(.i420, width: width, height: height))
        info.pixelAspectRatio = aspect
        #expect(resolution.size(for: info) == (expectedWidth, expectedHeight))
    }

    @Test("RP-2 a pipe delivers that size with square pixels")
    func resolutionDelivered() async throws {
        let graph = try Graph(
            """
            videotestsrc num-buffers=2 ! video/x-raw,width=720,height=576,pixel-aspect-ratio=16/15 !
            rawdatapipe name=pipe resolution=360p
            """)
        let seen = Log<[Int]>()
        try graph.rawDataPipe("pipe").receive { frame in
            seen.add([frame.width, frame.height, Int(frame.info.pixelAspectRatio.numerator)])
        }
        try await graph.run()
        #expect(seen.all == [[480, 360, 1], [480, 360, 1]])
    }

    @Test("RP-2 `auto` is refused with an error that lists the five")
    func autoResolution() throws {
        let error = #expect(throws: GraphError.self) { try Graph("videotestsrc ! rawdatapipe resolution=auto") }
        let text = "\(error!)"
        #expect(text.contains("1:36") || text.contains("resolution"), "\(text)")
        for name in ["90p", "180p", "360p", "720p", "1080p"] { #expect(text.contains(name), "\(text)") }
    }

    // MARK: RP-3

    @Test("RP-3 size, planes, strides, lengths, rotation, format, range, matrix, capture time and timestamps")
    func metadata() async throws {
        let source = RecordingSource()
        let graph = try Graph("videosource name=src pace=fast ! rawdatapipe name=pipe")
        try graph.videoSource("src").attach(source)
        let frames = try graph.rawDataPipe("pipe").frames
        try await graph.start()
        let before = wallClockNanoseconds()
        try sendNow(
            source.sender, patternedFrame(width: 1280, height: 720),
            FrameDescription(
                width: 1280, height: 720, format: .i420Limited, rotation: .clockwise90,
                timestamp: .milliseconds(40)))
        source.sender.endOfStream()
        let iterator = frames.makeAsyncIterator()
        let frame = try #require(await iterator.next())
        #expect(frame.width == 1280 && frame.height == 720 && frame.format == .i420)
        #expect(frame.rotation == .clockwise90)
        #expect(frame.presentationTimestamp == .milliseconds(40))
        #expect(frame.runningTime == .milliseconds(40))
        let captureTime = try #require(frame.captureTime)
        #expect(captureTime >= before && captureTime <= wallClockNanoseconds())
        try frame.withFrame { frame in
            #expect(frame.colorRange == .limited)
            #expect(frame.colorMatrix == .bt709)
            #expect(frame.packedLength == 1_382_400)
            let planes = try frame.format.planes.map { plane in
                let view = try frame.plane(plane)
                return [view.width, view.height, view.stride, view.bytes.count]
            }
            #expect(planes == [[1280, 720, 1280, 921_600], [640, 360, 640, 230_400], [640, 360, 640, 230_400]])
        }
        #expect(try await iterator.next() == nil)
        await graph.stop()
    }

    @Test("RP-3 caps that change mid-stream are those of each frame")
    func capsChange() throws {
        let seen = Log<[Int]>()
        let harness = try harness { element in
            try NodeVTable.attach(
                Consumer(onFrame: { seen.add([$0.width, $0.height, try $0.plane(.y).stride]) }), memoryMode: nil,
                to: element)
        }
        harness.setSourceCaps("video/x-raw,format=I420,width=16,height=4,framerate=30/1")
        harness.push([UInt8](repeating: 0, count: 96))
        harness.setSourceCaps("video/x-raw,format=I420,width=6,height=2,framerate=30/1")
        harness.push([UInt8](repeating: 0, count: 24))
        #expect(seen.all == [[16, 4, 16], [6, 2, 8]])
    }

    // MARK: RP-4

    @Test("RP-4 on before the first frame, off after the last, once each; for a sender and for a stock source")
    func status() async throws {
        for source in [
            "videosource handler=counter pace=fast options=\"frames=3,width=32,height=32\"",
            "videotestsrc num-buffers=3",
        ] {
            let calls = Log<String>()
            let graph = try Graph("\(source) ! rawdatapipe name=pipe")
            try graph.rawDataPipe("pipe").attach(
                Consumer(
                    onStatus: { calls.add($0 ? "on" : "off") }, onFinish: { calls.add("finish") },
                    onFrame: { _ in calls.add("frame") }))
            let events = graph.events
            try await graph.run()
            #expect(calls.all == ["on", "frame", "frame", "frame", "off", "finish"])
            var statuses: [Bool] = []
            for await event in events { if case .streamStatus("pipe", let isOn) = event { statuses.append(isOn) } }
            #expect(statuses == [true, false])
        }
    }

    @Test("RP-4 a pause and a second start of the sender give off and on, in order with the frames")
    func statusAcrossPause() async throws {
        let calls = Log<String>()
        let source = RecordingSource()
        let graph = try Graph("videosource name=src pace=fast ! rawdatapipe name=pipe")
        try graph.videoSource("src").attach(source)
        try graph.rawDataPipe("pipe").attach(
            Consumer(onStatus: { calls.add($0 ? "on" : "off") }, onFrame: { _ in calls.add("frame") }))
        let frame = FrameDescription(width: 16, height: 16)
        graph.pipeline.setState(.playing)
        try sendNow(source.sender, patternedFrame(width: 16, height: 16), frame)
        #expect(waitUntil { calls.all.count == 2 })
        graph.pipeline.setState(.paused)
        graph.pipeline.setState(.playing)
        try sendNow(source.sender, patternedFrame(width: 16, height: 16), frame)
        #expect(waitUntil { calls.all.count == 5 })
        graph.pipeline.setState(.null)
        #expect(calls.all == ["on", "frame", "off", "on", "frame", "off"])
    }

    // MARK: RP-5

    @Test("RP-5 a source that isn't live loses no frame of a slow consumer, and order is kept")
    func blocks() async throws {
        let seen = Log<UInt32>()
        let graph = try Graph(
            "videosource handler=counter pace=fast options=\"frames=60,width=64,height=32\" ! rawdatapipe name=pipe")
        try graph.rawDataPipe("pipe").receive { frame in
            Thread.sleep(forTimeInterval: 0.002)
            seen.add(try FrameNumber.read(frame))
        }
        try await graph.run()
        #expect(seen.all == Array(0..<60))
        #expect(try graph.rawDataPipe("pipe").statistics.dropped == 0)
    }

    @Test("RP-5 a slow consumer of a live stream stalls neither the sender nor another consumer; drops are counted")
    func dropsWhenLive() async throws {
        let slow = Log<UInt32>()
        let quick = Log<UInt32>()
        let graph = try Graph(
            """
            videosource name=src handler=counter options="frames=60,fps=120,width=64,height=32" max-frames=60 ! tee name=t
            t. ! rawdatapipe name=slow   t. ! rawdatapipe name=quick max-frames=60
            """)
        try graph.rawDataPipe("slow").receive { frame in
            slow.add(try FrameNumber.read(frame))
            Thread.sleep(forTimeInterval: 0.05)
        }
        try graph.rawDataPipe("quick").receive { quick.add(try FrameNumber.read($0)) }
        try await graph.run()
        // No queue between tee and pipes: what the slow one holds up, it would hold up for both.
        #expect(quick.all == Array(0..<60))
        let counts = try graph.rawDataPipe("slow").statistics
        #expect(counts.dropped > 0)
        #expect(Int(counts.frames + counts.dropped) == 60)
        #expect(slow.all == slow.all.sorted() && slow.all.first == 0)
        #expect(try graph.videoSource("src").statistics.dropped == 0)
    }

    @Test("RP-5 the first frame waits for the first call, however late its thread is", arguments: [1, 2, 3])
    func firstIsKept(bound: Int) {
        var queue = BoundedQueue<Int, Never>(bound: bound, policy: .dropOldest, keepsFirst: true)
        var dropped: [Int] = []
        func take() -> Int? { if case .frame(let frame) = queue.take() { frame } else { nil } }
        for frame in 0..<6 { if case .dropped(let lost) = queue.offer(frame) { dropped.append(lost) } }
        #expect(dropped.count == 6 - bound && !dropped.contains(0))
        #expect(take() == 0)
        // From then on it is the oldest that goes.
        for frame in 6..<12 { if case .dropped(let lost) = queue.offer(frame) { dropped.append(lost) } }
        #expect((0..<bound).map { _ in take() } == Array(12 - bound..<12))
    }

    @Test("RP-5 the policy's queue keeps the oldest or the newest, and counts what it loses")
    func queue() {
        var dropOld = BoundedQueue<Int, String>(bound: 2, policy: .dropOldest)
        var dropNew = BoundedQueue<Int, String>(bound: 2, policy: .dropNewest)
        var block = BoundedQueue<Int, String>(bound: 2, policy: .block)
        func offer(_ queue: inout BoundedQueue<Int, String>, _ frame: Int) -> String {
            switch queue.offer(frame) {
            case .accepted: "+"
            case .full: "full"
            case .dropped(let lost): "-\(lost)"
            }
        }
        func rest(_ queue: inout BoundedQueue<Int, String>) -> [String] {
            var items: [String] = []
            while let item = queue.take() {
                switch item {
                case .frame(let frame): items.append("\(frame)")
                case .signal(let signal): items.append(signal)
                }
            }
            return items
        }
        dropOld.append("on")
        #expect((1...4).map { offer(&dropOld, $0) } == ["+", "+", "-1", "-2"])
        dropOld.append("off")
        #expect(rest(&dropOld) == ["on", "3", "4", "off"])
        #expect((1...4).map { offer(&dropNew, $0) } == ["+", "+", "-3", "-4"])
        #expect(rest(&dropNew) == ["1", "2"])
        #expect((1...3).map { offer(&block, $0) } == ["+", "+", "full"])
        #expect(rest(&block) == ["1", "2"])
        #expect(offer(&block, 9) == "+")
    }

    // MARK: RP-6

    @Test(
        "RP-6 I420, NV12 and BGRA hold the colours that came in, whatever came in",
        arguments: ["I420", "NV12", "BGRA"], ["I420", "NV12", "BGRA", "YUY2", "RGB"])
    func conversion(format: String, upstream: String) async throws {
        let graph = try Graph(
            """
            videotestsrc num-buffers=1 pattern=red ! video/x-raw,format=\(upstream),width=33,height=17,colorimetry=\
            \(upstream == "BGRA" || upstream == "RGB" ? "sRGB" : "bt709") ! rawdatapipe name=pipe format=\(format)
            """)
        let seen = Log<[Int]>()
        try graph.rawDataPipe("pipe").receive { frame in
            #expect(frame.format.gstreamerName == format && frame.width == 33 && frame.height == 17)
            // Red in BT.709, limited range, is Y 63, U 102, V 240.
            switch frame.format {
            case .i420:
                seen.add([
                    Int(try frame.plane(.y).row(8)[16]), Int(try frame.plane(.u).row(4)[8]),
                    Int(try frame.plane(.v).row(4)[8]),
                ])
            case .nv12:
                let chroma = try frame.plane(.uv).row(4)
                seen.add([Int(try frame.plane(.y).row(8)[16]), Int(chroma[16]), Int(chroma[17])])
            default:
                let row = try frame.plane(.packed).row(8)
                seen.add([Int(row[66]), Int(row[65]), Int(row[64])])
            }
        }
        try await graph.run()
        let color = try #require(seen.all.first)
        // RGB that became YUV keeps the matrix of its caps (BT.601 or BT.709 by size): allow either.
        let expected = format == "BGRA" ? [[255, 0, 0]] : [[63, 102, 240], [81, 90, 240]]
        #expect(expected.contains { zip($0, color).allSatisfy { abs($0 - $1) <= 3 } }, "\(color)")
    }

    init() throws { try Nodes.register() }

    @Test("RP-6 a stream that can't be given is not-negotiated with both sides named")
    func notNegotiated() async throws {
        let pipeline = try Pipeline(
            parsing:
                "appsrc name=src caps=\"video/x-raw(memory:DMABuf),format=NV12,width=16,height=16,framerate=30/1\" ! rawdatapipe"
        )
        let errors = Log<String>()
        pipeline.onMessage {
            if case .error(let report) = $0.kind { errors.add("\(report.error.message) \(report.debug)") }
        }
        pipeline.setState(.playing)
        let source = try #require(pipeline.element(named: "src").flatMap(AppSource.init(wrapping:)))
        _ = source.push(Buffer([UInt8](repeating: 1, count: 384)))
        #expect(waitUntil { !errors.all.isEmpty })
        let text = errors.all.first ?? ""
        #expect(
            text.contains("upstream gives video/x-raw(memory:DMABuf)") && text.contains("this pipe takes video/x-raw"),
            "\(text)")
        pipeline.setState(.null)
        // Encoded video can't even be linked; the description says so.
        let error = #expect(throws: GraphError.self) {
            try Graph("videotestsrc ! jpegenc ! rawdatapipe")
        }
        #expect("\(error!)".contains("image/jpeg") && "\(error!)".contains("video/x-raw"), "\(error!)")
    }

    @Test("RP-6 a handler's own formats: the first is given, and a `format` it doesn't take is refused")
    func handlerFormats() async throws {
        struct Picky: VideoConsumer {
            static let formats: [VideoFormat] = [.nv12, .i420]
            let log: Log<VideoFormat>
            func receive(_ frame: borrowing VideoFrame) throws { log.add(frame.format) }
        }
        let log = Log<VideoFormat>()
        let graph = try Graph("videotestsrc num-buffers=1 ! rawdatapipe name=pipe")
        try graph.rawDataPipe("pipe").attach(Picky(log: log))
        try await graph.run()
        #expect(log.all == [.nv12])
        let refused = try Graph("videotestsrc num-buffers=1 ! rawdatapipe name=pipe format=BGRA")
        try refused.rawDataPipe("pipe").attach(Picky(log: log))
        let error = await #expect(throws: GraphError.self) { try await refused.run() }
        #expect("\(error!)".contains("format=BGRA: expected one that handler Picky takes: NV12, I420"), "\(error!)")
    }

    // MARK: RP-7

    @Test("RP-7 an owned frame stays valid after the graph has ended, and its bytes with it")
    func ownedFrames() async throws {
        var kept: [OwnedVideoFrame] = []
        do {
            let graph = try Graph(
                "videosource handler=counter pace=fast options=\"frames=20,width=64,height=32\" ! rawdatapipe name=pipe"
            )
            let frames = try graph.rawDataPipe("pipe").frames
            try await graph.start()
            for try await frame in frames { kept.append(frame) }
            await graph.stop()
        }
        let numbers = try await withThrowingTaskGroup(of: UInt32.self) { group in
            for frame in kept { group.addTask { try frame.withFrame { try FrameNumber.read($0) } } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(numbers.sorted() == Array(0..<20))
    }

    @Test("RP-7 an explicit mode that contradicts the consumer is an error when attached")
    func memoryMode() throws {
        let graph = try Graph("videotestsrc ! rawdatapipe name=pipe memory-mode=heap")
        let error = #expect(throws: MediaGraphError.self) { try graph.rawDataPipe("pipe").receive { _ in } }
        #expect("\(error!)" == "pipe's memory-mode: expected stack, for a handler that borrows frames, got heap")
        _ = try graph.rawDataPipe("pipe").frames
        #expect(throws: MediaGraphError.self) { try graph.rawDataPipe("pipe").frames }
    }

    // MARK: EL

    @Test("EL-2 a flush empties the pipe, and frames come again after it; GAP and SEGMENT pass; EOS finishes once")
    func events() throws {
        let calls = Log<String>()
        let harness = try harness { element in
            try NodeVTable.attach(
                Consumer(
                    onStatus: { calls.add($0 ? "on" : "off") }, onFinish: { calls.add("finish") },
                    onFrame: { calls.add("frame \($0.presentationTimestamp?.nanoseconds ?? 0)") }),
                memoryMode: nil, to: element)
        }
        let caps = "video/x-raw,format=I420,width=16,height=4,framerate=30/1"
        harness.setSourceCaps(caps)
        let bytes = [UInt8](repeating: 0, count: 96)
        #expect(harness.push(bytes, at: ClockTime(nanoseconds: 1)) == .ok)
        #expect(harness.push(.gap(.zero, .milliseconds(33))))
        #expect(harness.push(.flushStart))
        #expect(harness.push(bytes, at: ClockTime(nanoseconds: 2)) == .flushing)
        #expect(harness.push(.flushStop))
        #expect(harness.push(.segment))
        #expect(harness.push(bytes, at: ClockTime(nanoseconds: 3)) == .ok)
        #expect(harness.push(.endOfStream))
        #expect(harness.push(bytes, at: ClockTime(nanoseconds: 4)) == .endOfStream)
        #expect(calls.all == ["on", "frame 1", "frame 3", "off", "finish"])
    }

    @Test("EL-3 ALLOCATION: buffers with GstVideoMeta are understood, whatever their strides")
    func allocation() throws {
        let harness = try harness()
        let caps = "video/x-raw,format=I420,width=16,height=4,framerate=30/1"
        harness.setSourceCaps(caps)
        #expect(harness.acceptsVideoMeta(caps))
    }

    @Test("EL-6 non-square pixels are told or made square; interlaced frames say so, and scaling them is refused")
    func interlaced() async throws {
        let seen = Log<Bool>()
        let graph = try Graph(
            """
            videotestsrc num-buffers=1 ! video/x-raw,format=I420,width=64,height=64,interlace-mode=interleaved,\
            field-order=top-field-first ! rawdatapipe name=pipe
            """)
        try graph.rawDataPipe("pipe").receive { seen.add($0.isInterlaced) }
        try await graph.run()
        #expect(seen.all == [true])
        let scaled = try Graph(
            """
            videotestsrc num-buffers=1 ! video/x-raw,width=640,height=480,interlace-mode=interleaved,\
            field-order=top-field-first ! rawdatapipe handler=count resolution=90p
            """)
        let error = await #expect(throws: GraphError.self) { try await scaled.run() }
        #expect("\(error!)".contains("resolution=90p: expected progressive video"), "\(error!)")
        let anamorphic = Log<Fraction>()
        let wide = try Graph(
            "videotestsrc num-buffers=1 ! video/x-raw,width=64,height=64,pixel-aspect-ratio=4/3 ! rawdatapipe name=pipe"
        )
        try wide.rawDataPipe("pipe").receive { anamorphic.add($0.info.pixelAspectRatio) }
        try await wide.run()
        #expect(anamorphic.all == [Fraction(4, 3)])
    }
}
