import CMediaGraphABI
import GStreamer
import MediaGraphTesting
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests a pipe's frames in each format: their fields, keeping them, turning them.
@Suite struct PipeFrameTests {
    init() throws { try Nodes.register() }

    private struct Receiver: VideoConsumer {
        var onFrame: @Sendable (borrowing VideoFrame) throws -> Void
        func receive(_ frame: borrowing VideoFrame) throws { try onFrame(frame) }
    }

    private func harness(
        _ properties: [String: String] = [:], _ onFrame: @escaping @Sendable (borrowing VideoFrame) throws -> Void
    ) throws -> Harness {
        let element = try #require(Element(factory: "rawdatapipe", name: "p"))
        for (property, text) in properties { try element.setProperty(property, parsing: text) }
        try NodeVTable.attach(Receiver(onFrame: onFrame), to: element)
        let harness = Harness(element, sink: "sink", source: nil)
        harness.setLive(false)
        return harness
    }

    private static func nick(_ format: VideoFormat) -> String {
        PipeFormat.allCases.first { $0.format == format }!.nick
    }

    // MARK: RP-3

    @Test(
        "RP-3 each format has exactly its planes, with their sizes, strides and lengths",
        arguments: VideoFormat.allCases)
    func planes(format: VideoFormat) async throws {
        let graph = try Graph(
            """
            videotestsrc num-buffers=1 ! video/x-raw,width=33,height=17,format=AYUV,colorimetry=bt709 !
            rawdatapipe name=pipe format=\(Self.nick(format))
            """)
        let checked = Log<VideoFormat>()
        try graph.rawDataPipe("pipe").receive { frame in
            checked.add(frame.format)
            #expect(frame.width == 33 && frame.height == 17)
            #expect(frame.colorRange == (format.isYUV ? .limited : .full))
            #expect(frame.colorMatrix == (format.isYUV ? .bt709 : .rgb))
            var total = 0
            for plane in VideoFormat.Plane.allCases {
                guard format.planes.contains(plane) else {
                    #expect(throws: MediaGraphError.self) { _ = try frame.plane(plane).width }
                    continue
                }
                let view = try frame.plane(plane)
                let halvesWidth = [.u, .v, .uv].contains(plane)
                let halvesHeight = halvesWidth && format != .i422
                #expect(view.width == (halvesWidth ? 17 : 33) && view.height == (halvesHeight ? 9 : 17))
                #expect(view.stride >= view.rowLength)
                #expect(view.bytes.count == view.stride * (view.height - 1) + view.rowLength)
                total += view.rowLength * view.height
            }
            #expect(frame.packedLength == total && frame.packedBytes.count == total)
        }
        try await graph.run()
        #expect(checked.all == [format])
    }

    @Test("RP-3 GR-13 a frame's timestamp is relative to its segment, its stream time to the medium")
    func streamTime() async throws {
        let seen = Log<[UInt64?]>()
        let kept = Log<OwnedVideoFrame>()
        let harness = try harness { frame in
            let times = [frame.presentationTimestamp, frame.streamTime, frame.runningTime]
            seen.add(times.map { $0.map { $0.nanoseconds / 1_000_000 } })
            kept.add(try frame.retain())
        }
        harness.setSourceCaps("video/x-raw,format=I420,width=4,height=2,framerate=30/1")
        harness.push(.segmentShowing(.milliseconds(2000), at: .milliseconds(500)))
        for time in [UInt64(2000), 2040, 1000] {
            let buffer = Buffer([UInt8](repeating: 0, count: 16))
            buffer.access.presentationTimestamp = .milliseconds(time)
            harness.push(buffer)
        }
        #expect(seen.all.prefix(2) == [[2000, 500, 0], [2040, 540, 40]])
        #expect(kept.all[1].streamTime == .milliseconds(540))
        #expect(try kept.all[1].withFrame { $0.streamTime } == .milliseconds(540))
        // Stream times are the same in the filters.
        let graph = try Graph(
            "videotestsrc num-buffers=2 ! video/x-raw,framerate=25/1 ! preprocessor name=e ! frameobserver name=o ! fakesink"
        )
        let times = Log<ClockTime?>()
        try graph.preprocessor("e").process { frame in
            times.add(frame.streamTime)
            return .pass
        }
        try graph.frameObserver("o").attach(
            ObserverHarness.Observer { frame in
                times.add(frame.streamTime)
                return .pass
            })
        try await graph.run()
        #expect(times.all == [.zero, .zero, .milliseconds(40), .milliseconds(40)])
    }

    // MARK: RP-6

    @Test(
        "RP-6 `format=yuv` gives I420 and `format=rgb` BGRA, byte for byte",
        arguments: [("yuv", "I420"), ("rgb", "BGRA")])
    func series(series: String, format: String) async throws {
        let frames = Log<[UInt8]>()
        for name in [series, format] {
            let graph = try Graph(
                """
                videotestsrc num-buffers=2 pattern=smpte ! video/x-raw,width=33,height=17,format=NV12 !
                rawdatapipe name=pipe format=\(name)
                """)
            try graph.rawDataPipe("pipe").receive { frame in
                #expect(frame.format.gstreamerName == format)
                frames.add(frame.packedBytes)
            }
            try await graph.run()
        }
        #expect(frames.all.count == 4)
        #expect(Array(frames.all[0...1]) == Array(frames.all[2...3]))
    }

    // MARK: RP-8

    private static let caps = "video/x-raw,format=I420,width=16,height=16,framerate=30/1"
    private static let size = 16 * 16 * 3 / 2

    /// Pushes a buffer from the pool, which must not be empty.
    private func push(_ pool: BoundedPool, _ harness: Harness) throws {
        guard let buffer = pool.acquire() else { throw MediaGraphError.timeOut(.init("the pool is empty")) }
        let result = harness.push(buffer)
        #expect(result == .ok)
    }

    @Test("RP-8 at the pool's limit `retain` throws and the pipe goes on, and released frames make room")
    func poolLimit() throws {
        let pool = BoundedPool(Self.caps, size: Self.size, buffers: 5)
        let kept = Mutex<[OwnedVideoFrame]>([])
        let answers = Log<String>()
        let harness = try harness { frame in
            let can = frame.canRetain
            do {
                let owned = try frame.retain()
                kept.withLock { $0.append(owned) }
                answers.add("\(can) kept")
            } catch let error as MediaGraphError {
                answers.add("\(can) \(error.code)")
            }
        }
        harness.setSourceCaps(Self.caps)
        for _ in 0..<6 { try push(pool, harness) }
        let full = [String](repeating: "true kept", count: 3) + [String](repeating: "false allocationFailed", count: 3)
        #expect(answers.all == full)
        kept.withLock { _ = $0.removeFirst() }
        for _ in 0..<2 { try push(pool, harness) }
        #expect(answers.all == full + ["true kept", "false allocationFailed"])
        kept.withLock { $0 = [] }
        // The appsink keeps the last buffer until the next one arrives.
        #expect(pool.available == 4)
    }

    @Test("RP-8 10 000 frames that are kept and released at random leave each buffer in its pool")
    func keptAtRandom() throws {
        let pool = BoundedPool(Self.caps, size: Self.size, buffers: 8)
        let kept = Mutex<(frames: [OwnedVideoFrame], random: UInt64, count: Int)>(([], 1, 0))
        let harness = try harness { frame in
            let owned = frame.canRetain ? try frame.retain() : nil
            kept.withLock { kept in
                kept.random = kept.random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                if let owned, kept.random >> 62 != 0 {
                    kept.frames.append(owned)
                    kept.count += 1
                }
                if !kept.frames.isEmpty, kept.random >> 61 & 1 == 0 {
                    kept.frames.remove(at: Int(kept.random >> 33) % kept.frames.count)
                }
            }
        }
        harness.setSourceCaps(Self.caps)
        for _ in 0..<10_000 { try push(pool, harness) }
        #expect(kept.withLock { $0.count } > 3000)
        // The appsink keeps the last buffer until the next one arrives.
        kept.withLock { $0.frames = [] }
        #expect(pool.available == 7)
    }

    @Test("RP-8 a reader that keeps all frames of a small pool gets copies at its limit")
    func sequenceAtTheLimit() throws {
        let pool = BoundedPool(Self.caps, size: Self.size, buffers: 4)
        let element = try #require(Element(factory: "rawdatapipe"))
        try element.setProperty("max-frames", to: Int32(20))
        try element.setProperty("backpressure", parsing: "block")
        let channel = FrameChannel<OwnedVideoFrame>()
        try NodeVTable.attach(MGVideoConsumer(channel), to: element)
        let harness = Harness(element, sink: "sink", source: nil)
        harness.setLive(false)
        harness.setSourceCaps(Self.caps)
        for _ in 0..<10 { try push(pool, harness) }
        #expect(channel.count == 10)
        // The appsink has the last buffer.
        #expect(pool.available == 1)
    }

    // MARK: RP-10

    /// A frame of 4×2 numbered BGRA pixels.
    private static let picture: [UInt8] = (0..<8).flatMap { [UInt8($0), 100, 200, 255] }

    /// Returns the numbers of a frame's pixels, row by row.
    private static func numbers(_ frame: borrowing VideoFrame) throws -> [[Int]] {
        let plane = try frame.plane(.packed)
        return (0..<plane.height).map { y in
            let row = plane.row(y)
            return (0..<plane.width).map { Int(row[$0 * 4]) }
        }
    }

    @Test("RP-10 with `apply-rotation` each frame is turned upright by its rotation, and then has none")
    func rotation() throws {
        let seen = Log<[[Int]]>()
        let rotations = Log<Rotation>()
        let harness = try harness(["apply-rotation": "true", "format": "BGRA"]) { frame in
            seen.add(try Self.numbers(frame))
            rotations.add(frame.rotation)
        }
        harness.setSourceCaps("video/x-raw,format=BGRA,width=4,height=2,framerate=30/1")
        for rotation in [Rotation.none, .clockwise90, .clockwise180, .clockwise270, .none] {
            let buffer = Buffer(Self.picture)
            Rotation.meta.set(rotation.rawValue, on: buffer.access)
            harness.push(buffer)
        }
        #expect(
            seen.all == [
                [[0, 1, 2, 3], [4, 5, 6, 7]], [[4, 0], [5, 1], [6, 2], [7, 3]], [[7, 6, 5, 4], [3, 2, 1, 0]],
                [[3, 7], [2, 6], [1, 5], [0, 4]], [[0, 1, 2, 3], [4, 5, 6, 7]],
            ])
        #expect(rotations.all == [Rotation](repeating: .none, count: 5))
    }

    @Test("RP-10 `apply-mirror` swaps left and right of the upright frame, with or without rotation")
    func mirror() throws {
        for isTurned in [true, false] {
            let seen = Log<[[Int]]>()
            let rotations = Log<Rotation>()
            let harness = try harness([
                "apply-rotation": "\(isTurned)", "apply-mirror": "true", "format": "BGRA",
            ]) { frame in
                seen.add(try Self.numbers(frame))
                rotations.add(frame.rotation)
            }
            harness.setSourceCaps("video/x-raw,format=BGRA,width=4,height=2,framerate=30/1")
            for rotation in Rotation.allCases {
                let buffer = Buffer(Self.picture)
                Rotation.meta.set(rotation.rawValue, on: buffer.access)
                harness.push(buffer)
            }
            let leftRight = [[3, 2, 1, 0], [7, 6, 5, 4]]
            let topBottom = [[4, 5, 6, 7], [0, 1, 2, 3]]
            if isTurned {
                let (quarter, threeQuarters) = (
                    [[0, 4], [1, 5], [2, 6], [3, 7]], [[7, 3], [6, 2], [5, 1], [4, 0]]
                )
                #expect(seen.all == [leftRight, quarter, topBottom, threeQuarters])
                #expect(Set(rotations.all) == [.none])
            } else {
                // The top and bottom of a frame that is still to be turned by 90° become left and right.
                #expect(seen.all == [leftRight, topBottom, leftRight, topBottom])
                #expect(rotations.all == Rotation.allCases)
            }
        }
    }

    @Test("RP-10 by default a rotated frame isn't turned, and reports its rotation")
    func rotationOff() throws {
        let seen = Log<[[Int]]>()
        let harness = try harness(["format": "BGRA"]) { frame in
            seen.add(try Self.numbers(frame))
            #expect(frame.rotation == .clockwise90)
        }
        harness.setSourceCaps("video/x-raw,format=BGRA,width=4,height=2,framerate=30/1")
        let buffer = Buffer(Self.picture)
        Rotation.meta.set(90, on: buffer.access)
        harness.push(buffer)
        #expect(seen.all == [[[0, 1, 2, 3], [4, 5, 6, 7]]])
    }

    @Test("RP-10 a scaled and converted frame is turned upright too, and so is its kept copy")
    func convertedAndTurned() throws {
        let kept = Log<OwnedVideoFrame>()
        let harness = try harness(["apply-rotation": "true", "format": "NV12", "resolution": "90p"]) {
            kept.add(try $0.retain())
        }
        harness.setSourceCaps("video/x-raw,format=BGRA,width=320,height=180,framerate=30/1")
        // The left half is white, the right half is black.
        let row = (0..<320).flatMap { [UInt8](repeating: $0 < 160 ? 255 : 0, count: 3) + [255] }
        let buffer = Buffer((0..<180).flatMap { _ in row })
        Rotation.meta.set(90, on: buffer.access)
        harness.push(buffer)
        let frame = try #require(kept.all.first)
        #expect(frame.width == 90 && frame.height == 160 && frame.rotation == .none && frame.format == .nv12)
        try frame.withFrame { frame in
            let luma = try frame.plane(.y)
            // A quarter turn clockwise moves the left side to the top.
            #expect(luma.row(10)[45] > 230 && luma.row(150)[45] < 20)
        }
    }

    @Test(
        "RP-10 turning a format that can't be turned is an error in the description, or at the start",
        arguments: ["A420", "I422"])
    func unturnable(format: String) async throws {
        for property in ["apply-rotation", "apply-mirror"] {
            let text = "videotestsrc num-buffers=1 ! rawdatapipe name=p handler=count format=\(format)"
            let written = #expect(throws: GraphError.self) { try Graph("\(text) \(property)=true") }
            let graph = try Graph(text)
            try graph.rawDataPipe("p").set(property, parsing: "true")
            let error = await #expect(throws: GraphError.self) { try await graph.run() }
            let name = format == "I422" ? "Y42B" : format
            let refusal = "\(property): expected a format that can be turned, such as I420, got \(name)"
            #expect("\(written!)".contains(refusal), "\(written!)")
            #expect("\(error!)".contains(refusal), "\(error!)")
        }
    }

    @Test(
        "RP-2 a pipe scales like `videoscale`, except for rounding", arguments: ["I420", "BGRA", "NV12"],
        [("180p", 320, 180), ("90p", 160, 90)])
    func scaling(format: String, target: (name: String, width: Int, height: Int)) async throws {
        let graph = try Graph(
            """
            videotestsrc num-buffers=1 pattern=snow ! video/x-raw,format=\(format),width=640,height=360,framerate=30/1 !
            tee name=t ! queue ! rawdatapipe name=a format=\(format) resolution=\(target.name)
            t. ! queue ! videoscale ! video/x-raw,width=\(target.width),height=\(target.height) !
            rawdatapipe name=b format=\(format)
            """)
        let (ours, stock) = (Log<[UInt8]>(), Log<[UInt8]>())
        try graph.rawDataPipe("a").receive { ours.add($0.packedBytes) }
        try graph.rawDataPipe("b").receive { stock.add($0.packedBytes) }
        try await graph.run()
        try #require(ours.all.count == 1 && stock.all.count == 1 && ours.all[0].count == stock.all[0].count)
        #expect(zip(ours.all[0], stock.all[0]).allSatisfy { abs(Int($0) - Int($1)) <= 1 })
    }
}
