import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphElements

/// Tests the frames that leave a `videosource`: their rotation, timestamps and memory.
@Suite struct VideoSourceFrameTests {
    init() throws { try Nodes.register() }

    private static let bytes = patternedFrame(width: 16, height: 16)
    private static let frame = FrameDescription(width: 16, height: 16)

    // MARK: VS-7

    @Test("VS-7 a change of rotation reaches each pipe behind a tee with the exact frame")
    func rotation() async throws {
        let graph = try Graph(
            """
            videosource name=src pace=fast ! tee name=t ! queue ! rawdatapipe name=a
            t. ! queue ! videoconvert ! video/x-raw,format=NV12 ! rawdatapipe name=b
            """)
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let (a, b) = (Log<Rotation>(), Log<Rotation>())
        try graph.rawDataPipe("a").receive { a.add($0.rotation) }
        try graph.rawDataPipe("b").receive { b.add($0.rotation) }
        try await graph.start()
        let rotations: [Rotation] = (0..<40).map {
            [.none, .clockwise90, .clockwise90, .clockwise270, .clockwise180][$0 % 5]
        }
        for (index, rotation) in rotations.enumerated() {
            var frame = Self.frame
            frame.rotation = rotation
            frame.timestamp = .milliseconds(UInt64(index))
            try sendNow(source.sender, Self.bytes, frame)
        }
        await graph.finish()
        #expect(a.all == rotations && b.all == rotations)
    }

    @Test(
        "VS-7 a stock videoflip doesn't turn a frame that only has a rotation meta, and the pipe reports it")
    func videoflip() async throws {
        let graph = try Graph("videosource name=src pace=fast ! videoflip video-direction=auto ! rawdatapipe name=pipe")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let seen = Log<String>()
        try graph.rawDataPipe("pipe").receive { frame in
            seen.add(
                "\(frame.width)×\(frame.height) \(frame.rotation.rawValue) \(frame.packedBytes == patternedFrame(width: 16, height: 8))"
            )
        }
        try await graph.start()
        try sendNow(
            source.sender, patternedFrame(width: 16, height: 8),
            FrameDescription(width: 16, height: 8, rotation: .clockwise90))
        await graph.finish()
        #expect(seen.all == ["16×8 90 true"])
    }

    @Test("VS-7 with rotation-tag=true the image-orientation tag precedes its frame")
    func rotationTag() throws {
        for isOn in [true, false] {
            let source = RecordingSource()
            let harness = try videoSourceHarness(["pace": "fast", "rotation-tag": "\(isOn)"], source: source)
            var tags: [String] = []
            for rotation in [Rotation.none, .clockwise90, .clockwise90, .clockwise180, .none] {
                var frame = Self.frame
                frame.rotation = rotation
                try sendNow(source.sender, Self.bytes, frame)
                #expect(harness.pulledTimestamp() != nil)
                tags.append(harness.pulledTags("image-orientation").joined())
            }
            #expect(tags == (isOn ? ["", "rotate-90", "", "rotate-180", "rotate-0"] : ["", "", "", "", ""]))
        }
    }

    // MARK: VS-9

    @Test(
        "VS-9 a source that jitters by ±20 ms gets timestamps within 1 ms of even, and given ones stay")
    func evenTimestamps() throws {
        let source = RecordingSource()
        let harness = try videoSourceHarness(["backpressure": "block"], source: source)
        var frame = Self.frame
        frame.framesPerSecond = Fraction(30, 1)
        var stamps: [Double] = []
        var clock = 0.0
        for index in 0..<300 {
            let jitter = Double((index * 7919) % 41 - 20)
            let arrival = max(clock, 100 + Double(index) * 1000 / 30 + jitter)
            clock = arrival
            harness.setTime(ClockTime(nanoseconds: UInt64(arrival * 1e6)))
            try sendNow(source.sender, Self.bytes, frame)
            stamps.append(Double(try #require(harness.pulledTimestamp()).nanoseconds) / 1e6)
        }
        let worst = stamps.enumerated().map { abs($1 - stamps[0] - Double($0) * 1000 / 30) }.max()!
        #expect(worst < 1, "\(worst) ms off")
        frame.timestamp = .milliseconds(77_777)
        try sendNow(source.sender, Self.bytes, frame)
        #expect(harness.pulledTimestamp() == .milliseconds(77_777))
    }

    @Test("VS-9 frames of a source without a rate get their arrival times")
    func arrivalTimestamps() throws {
        let source = RecordingSource()
        let harness = try videoSourceHarness(source: source)
        for time in [5, 130, 131] as [UInt64] {
            harness.setTime(.milliseconds(time))
            try sendNow(source.sender, Self.bytes, Self.frame)
            #expect(harness.pulledTimestamp() == .milliseconds(time))
        }
    }

    // MARK: VS-11

    @Test(
        "VS-11 the pipe reads the memory that the source filled, both owned memory and a frame of the pool"
    )
    func zeroCopy() async throws {
        let graph = try Graph("videosource name=src pace=fast ! rawdatapipe name=pipe")
        let source = RecordingSource()
        try graph.videoSource("src").attach(source)
        let seen = Log<[UInt]>()
        try graph.rawDataPipe("pipe").receive { frame in
            seen.add(
                try [VideoFormat.Plane.y, .u, .v].map { try address(of: frame.plane($0).bytes) } + [
                    UInt(frame.plane(.y).bytes[5])
                ])
        }
        try await graph.start()
        var expected: [[UInt]] = []
        // Frames of the pool, one of them at a size that GStreamer pads.
        for width in [16, 404] {
            var made = try source.sender.makeFrame(FrameDescription(width: width, height: 16))
            try made.withFrame { frame in
                var addresses: [UInt] = []
                for plane in [VideoFormat.Plane.y, .u, .v] {
                    var plane = try frame.mutablePlane(plane)
                    plane.fill(rows: 0..<16, with: UInt8(width / 4))
                    addresses.append(address(of: plane.bytes.span))
                }
                expected.append(addresses + [UInt(width / 4)])
            }
            try sendMade(source.sender, made)
        }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 384, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 9)
        let start = UInt(bitPattern: memory.baseAddress!)
        expected.append([start, start + 256, start + 320, 9])
        try sendOwning(source.sender, memory, Self.frame)
        await graph.finish()
        #expect(seen.all == expected)
    }

    @Test("VS-11 a frame of the pool that is unsent or refused goes back to the pool")
    func unsentFrames() async throws {
        let source = RecordingSource()
        let harness = try videoSourceHarness(["pace": "fast"], source: source)
        for _ in 0..<100 {
            let made = try source.sender.makeFrame(Self.frame)
            _ = consume made
        }
        let made = try source.sender.makeFrame(Self.frame)
        harness.element.setState(.null)
        var refusal: MediaGraphError?
        do { try sendMade(source.sender, made) } catch { refusal = error as? MediaGraphError }
        #expect(refusal?.code == .wrongUsage)
        #expect(
            sendError { _ = try source.sender.makeFrame(FrameDescription(width: 0, height: 1)) }?.code
                == .invalidParameter)
    }
}

private func address(of span: Span<UInt8>) -> UInt {
    span.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress!) }
}

private func sendMade(_ sender: VideoSender, _ frame: consuming OutgoingFrame) throws { try sender.send(frame) }

/// Sends memory that is freed when it is released.
private func sendOwning(_ sender: VideoSender, _ memory: UnsafeMutableRawBufferPointer, _ frame: FrameDescription)
    throws
{
    try sender.send(owning: memory, frame, release: { $0!.deallocate() }, context: memory.baseAddress)
}
