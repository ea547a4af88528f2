import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements
@testable import MediaGraphHandlers

/// Tests a pipe's frames, status, formats and events.
@Suite struct RawDataPipeTests {
    init() throws { try Nodes.register() }

    private func harness(_ configure: (Element) throws -> Void = { _ in }) throws -> Harness {
        try Nodes.register()
        let element = try #require(Element(factory: "rawdatapipe"))
        try configure(element)
        let harness = Harness(element, sink: "sink", source: nil)
        harness.setLive(false)
        return harness
    }

    /// A consumer made of closures.
    struct Consumer: VideoConsumer {
        var onStatus: @Sendable (Bool) -> Void = { _ in }
        var onFinish: @Sendable () -> Void = {}
        var onFrame: @Sendable (borrowing VideoFrame) throws -> Void = { _ in }
        func statusChanged(isOn: Bool) { onStatus(isOn) }
        func receive(_ frame: borrowing VideoFrame) throws { try onFrame(frame) }
        func finish() { onFinish() }
    }

    // MARK: RP-3

    @Test("RP-3 a frame has size, planes, strides, rotation, format, colorimetry and times")
    func metadata() async throws {
        let source = RecordingSource()
        let graph = try Graph("videosource name=src pace=fast ! rawdatapipe name=pipe")
        try graph.videoSource("src").attach(source)
        let frames = try graph.rawDataPipe("pipe").frames
        try await graph.start()
        let before = Date(unixNanoseconds: wallClockNanoseconds())
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
        #expect(captureTime >= before && captureTime <= Date(unixNanoseconds: wallClockNanoseconds()))
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

    @Test("RP-3 each frame has the caps that were valid when it was sent")
    func capsChange() throws {
        let seen = Log<[Int]>()
        let harness = try harness { element in
            try NodeVTable.attach(
                Consumer(onFrame: { seen.add([$0.width, $0.height, try $0.plane(.y).stride]) }), to: element)
        }
        harness.setSourceCaps("video/x-raw,format=I420,width=16,height=4,framerate=30/1")
        harness.push([UInt8](repeating: 0, count: 96))
        harness.setSourceCaps("video/x-raw,format=I420,width=6,height=2,framerate=30/1")
        harness.push([UInt8](repeating: 0, count: 24))
        #expect(seen.all == [[16, 4, 16], [6, 2, 8]])
    }

    // MARK: RP-4

    @Test("RP-4 the status is on before the first frame and off after the last, for each kind of source")
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

    @Test("RP-4 pausing and restarting a sender gives off and on, in order with the frames")
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

    // MARK: RP-6

    @Test(
        "RP-6 I420, NV12 and BGRA have the input's colors, whatever the input's format is",
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
        // RGB that became YUV keeps the matrix of its caps, BT.601 or BT.709 by size, so both are accepted.
        let expected = format == "BGRA" ? [[255, 0, 0]] : [[63, 102, 240], [81, 90, 240]]
        #expect(expected.contains { zip($0, color).allSatisfy { abs($0 - $1) <= 3 } }, "\(color)")
    }

    @Test("RP-6 a stream that a pipe can't convert is an error with both sides")
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
            text.contains("upstream produces video/x-raw(memory:DMABuf)")
                && text.contains("this pipe accepts video/x-raw"),
            "\(text)")
        pipeline.setState(.null)
        // Encoded video can't even be linked, which the description's check reports.
        let error = #expect(throws: GraphError.self) {
            try Graph("videotestsrc ! jpegenc ! rawdatapipe")
        }
        #expect("\(error!)".contains("image/jpeg") && "\(error!)".contains("video/x-raw"), "\(error!)")
    }

    @Test("RP-6 a handler gets the first of its own formats, and another `format` is refused")
    func handlerFormats() async throws {
        struct FormatConsumer: VideoConsumer {
            static let formats: [VideoFormat] = [.nv12, .i420]
            let log: Log<VideoFormat>
            func receive(_ frame: borrowing VideoFrame) throws { log.add(frame.format) }
        }
        let log = Log<VideoFormat>()
        let graph = try Graph("videotestsrc num-buffers=1 ! rawdatapipe name=pipe")
        try graph.rawDataPipe("pipe").attach(FormatConsumer(log: log))
        try await graph.run()
        #expect(log.all == [.nv12])
        let refused = try Graph("videotestsrc num-buffers=1 ! rawdatapipe name=pipe format=BGRA")
        try refused.rawDataPipe("pipe").attach(FormatConsumer(log: log))
        let error = await #expect(throws: GraphError.self) { try await refused.run() }
        #expect(
            "\(error!)".contains("format=BGRA isn't supported by handler FormatConsumer, which supports NV12, I420"),
            "\(error!)")
    }

    // MARK: RP-7

    @Test("RP-7 an owned frame and its bytes stay valid after the graph has ended")
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

    @Test("RP-7 a pipe has one sequence of frames, and a second one is an error")
    func oneSequence() throws {
        let graph = try Graph("videotestsrc ! rawdatapipe name=pipe memory-mode=heap")
        _ = try graph.rawDataPipe("pipe").frames
        let error = #expect(throws: MediaGraphError.self) { try graph.rawDataPipe("pipe").frames }
        #expect(error?.code == .alreadyInUse)
    }

    // MARK: EL

    @Test("EL-2 a flush empties the pipe and frames come again, GAP and SEGMENT pass, and EOS finishes once")
    func events() throws {
        let calls = Log<String>()
        let harness = try harness { element in
            try NodeVTable.attach(
                Consumer(
                    onStatus: { calls.add($0 ? "on" : "off") }, onFinish: { calls.add("finish") },
                    onFrame: { calls.add("frame \($0.presentationTimestamp?.nanoseconds ?? 0)") }), to: element)
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

    @Test("EL-3 buffers with GstVideoMeta are accepted, whatever their strides")
    func allocation() throws {
        let harness = try harness()
        let caps = "video/x-raw,format=I420,width=16,height=4,framerate=30/1"
        harness.setSourceCaps(caps)
        #expect(harness.acceptsVideoMeta(caps))
    }

    @Test("EL-6 pixel aspect and interlacing are reported, and scaling interlaced frames is refused")
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
        #expect("\(error!)".contains("resolution=90p: interlaced video can't be scaled"), "\(error!)")
        let anamorphic = Log<Fraction>()
        let wide = try Graph(
            "videotestsrc num-buffers=1 ! video/x-raw,width=64,height=64,pixel-aspect-ratio=4/3 ! rawdatapipe name=pipe"
        )
        try wide.rawDataPipe("pipe").receive { anamorphic.add($0.info.pixelAspectRatio) }
        try await wide.run()
        #expect(anamorphic.all == [Fraction(4, 3)])
    }
}
