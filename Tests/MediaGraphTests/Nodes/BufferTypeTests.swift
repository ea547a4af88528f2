import Foundation
import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests `buffer-type`, which delivers encoded or native buffers.
@Suite struct BufferTypeTests {
    init() throws { try Nodes.register() }

    @Test(
        "RP-12 `encoded` delivers each access unit with codec, key frame flag, time and all bytes",
        arguments: [
            ("vp8enc keyframe-max-dist=4 deadline=1", VideoCodec.vp8),
            (
                "x264enc key-int-max=4 bframes=0 tune=zerolatency threads=1 ! video/x-h264,stream-format=byte-stream",
                .h264
            ),
            ("jpegenc", .jpeg),
        ])
    func encoded(encoder: String, codec: VideoCodec) async throws {
        let folder = try TemporaryFolder()
        let graph = try Graph(
            """
            videotestsrc num-buffers=10 pattern=ball ! video/x-raw,format=I420,width=64,height=64,framerate=25/1 !
            \(encoder) ! tee name=t
            t. ! queue ! rawdatapipe name=units buffer-type=encoded
            t. ! queue ! filesink location=\(folder.file("bytes"))
            """)
        struct Unit: Sendable, Equatable {
            var codec: VideoCodec
            var isKeyframe: Bool
            var time: ClockTime?
        }
        let units = Log<Unit>()
        let bytes = Log<[UInt8]>()
        let kept = Log<OwnedEncodedVideoFrame>()
        try graph.rawDataPipe("units").receiveEncoded { unit in
            units.add(Unit(codec: unit.codec, isKeyframe: unit.isKeyframe, time: unit.runningTime))
            let coded = unit.bytes
            bytes.add(coded.indices.map { coded[$0] })
            kept.add(try unit.retain())
        }
        try await graph.run()
        let expected = (0..<10).map { index in
            Unit(
                codec: codec, isKeyframe: codec == .jpeg || index % 4 == 0,
                time: ClockTime(nanoseconds: UInt64(index) * 40_000_000))
        }
        #expect(units.all == expected)
        #expect(bytes.all.flatMap { $0 } == (try folder.read("bytes")))
        let later = try kept.all.map { unit in
            try unit.withFrame { unit in
                let coded = unit.bytes
                return coded.indices.map { coded[$0] }
            }
        }
        #expect(later == bytes.all)
    }

    @Test("RP-12 `native` delivers the buffer itself, with its caps features, rotation and times")
    func native() throws {
        let seen = Log<String>()
        let addresses = Log<UInt>()
        let kept = Log<OwnedNativeVideoFrame>()
        let element = try #require(Element(factory: "rawdatapipe"))
        try element.setProperty("buffer-type", parsing: "native")
        struct Receiver: VideoConsumer {
            let onFrame: @Sendable (borrowing NativeVideoFrame) throws -> Void
            func receive(_ frame: borrowing NativeVideoFrame) throws { try onFrame(frame) }
        }
        try NodeVTable.attach(
            Receiver { frame in
                seen.add(
                    "\(frame.rotation) \(frame.presentationTimestamp?.nanoseconds ?? 0) \(frame.memoryTypes)")
                #expect("\(frame.caps)".contains("memory:DMABuf") && "\(frame.caps)".contains("NV12"))
                #expect(frame.width == 16 && frame.height == 16 && frame.format == .nv12)
                addresses.add(frame.withUnsafeBuffer { UInt(bitPattern: $0) })
                kept.add(try frame.retain())
            }, to: element)
        let harness = Harness(element, sink: "sink", source: nil)
        harness.setLive(false)
        harness.setSourceCaps("video/x-raw(memory:DMABuf),format=NV12,width=16,height=16,framerate=30/1")
        let buffer = Buffer([UInt8](repeating: 3, count: 384))
        buffer.access.presentationTimestamp = ClockTime(nanoseconds: 5)
        Rotation.meta.set(270, on: buffer.access)
        let address = buffer.address
        harness.push(buffer)
        #expect(seen.all == ["clockwise270 5 [\"SystemMemory\"]"])
        #expect(addresses.all == [address])
        let later = kept.all[0].withFrame { frame in frame.withUnsafeBuffer { UInt(bitPattern: $0) } }
        #expect(later == address)
    }

    @Test("RP-12 a closure can receive a graph's native buffers, with their caps and memory")
    func closure() async throws {
        let graph = try Graph(
            "videotestsrc num-buffers=2 ! video/x-raw,format=NV12,width=16 ! rawdatapipe name=n buffer-type=native")
        let seen = Log<String>()
        try graph.rawDataPipe("n").receiveNative { frame in
            seen.add("\(frame.caps[0].text("format") ?? "") \(frame.memoryTypes)")
        }
        try await graph.run()
        #expect(seen.all == [String](repeating: "NV12 [\"SystemMemory\"]", count: 2))
    }

    @Test("RP-12 a delegate can receive native and encoded buffers too")
    func delegates() async throws {
        final class Delegate: RawDataDelegate {
            let log = Log<String>()
            func received(_ frame: borrowing NativeVideoFrame, from pipe: PipeIdentity) {
                log.add("\(pipe.name) \(frame.caps[0].name)")
            }
            func received(_ frame: borrowing EncodedVideoFrame, from pipe: PipeIdentity) {
                log.add("\(pipe.name) \(frame.codec)")
            }
        }
        let graph = try Graph(
            """
            videotestsrc num-buffers=1 ! tee name=t
            t. ! queue ! rawdatapipe name=n buffer-type=native
            t. ! queue ! jpegenc ! rawdatapipe name=e buffer-type=encoded
            """)
        let delegate = Delegate()
        for name in ["n", "e"] { try graph.rawDataPipe(name).subscribe(delegate, resolution: .native) }
        try await graph.run()
        #expect(Set(delegate.log.all) == ["n video/x-raw", "e jpeg"])
        #expect(throws: MediaGraphError.self) { try graph.rawDataPipe("n").subscribe(Delegate(), resolution: .p90) }
    }

    @Test("RP-12 handler=count counts frames of each type")
    func counting() async throws {
        for (coder, type) in [("identity", "raw"), ("identity", "native"), ("jpegenc", "encoded")] {
            let graph = try Graph(
                "videotestsrc num-buffers=3 ! \(coder) ! rawdatapipe name=p buffer-type=\(type) handler=count")
            try await graph.start()
            _ = try await graph.waitUntilEnd()
            #expect(try graph.rawDataPipe("p").statistics.frames == 3, "\(type)")
            await graph.stop()
        }
    }

    @Test("RP-12 an unknown type is an error that lists the types")
    func unknown() {
        let error = #expect(throws: GraphError.self) { try Graph("videotestsrc ! rawdatapipe buffer-type=texture") }
        for type in ["raw", "native", "encoded"] { #expect("\(error!)".contains(type), "\(error!)") }
    }

    @Test("RP-12 properties for raw frames and receivers of the wrong kind are refused for other types")
    func wrongCombinations() async throws {
        for property in ["resolution=90p", "apply-rotation=true", "apply-mirror=true"] {
            let text = "videotestsrc num-buffers=1 ! rawdatapipe name=p handler=count buffer-type=native"
            let (name, value) = (property.split(separator: "=")[0], property.split(separator: "=")[1])
            let refusal = "\(name) can't be set with buffer-type=native"
            let found = try problems(in: "\(text) \(property)")
            #expect(found.count == 1 && found[0].contains(refusal), "\(found)")
            let graph = try Graph(text)
            try graph.rawDataPipe("p").set(String(name), parsing: String(value))
            let error = await #expect(throws: GraphError.self) { try await graph.run() }
            #expect("\(error!)".contains(refusal), "\(error!)")
        }
        for property in ["resolution=90p", "format=BGRA", "apply-rotation=true", "apply-mirror=true"] {
            let found = try problems(
                in: "videotestsrc ! jpegenc ! rawdatapipe handler=count buffer-type=encoded \(property)")
            #expect(found.count == 1 && found[0].contains("can't be set with buffer-type=encoded"), "\(found)")
        }
        let graph = try Graph("videotestsrc num-buffers=1 ! rawdatapipe name=p buffer-type=native")
        #expect(throws: MediaGraphError.self) { try graph.rawDataPipe("p").frames }
        try graph.rawDataPipe("p").receive { _ in }
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(error!)".contains("has no method for the native frames of buffer-type=native"), "\(error!)")
        let handled = try Graph(
            "videotestsrc num-buffers=1 ! rawdatapipe handler=framemd5 options=location=/dev/null buffer-type=native")
        let refused = await #expect(throws: GraphError.self) { try await handled.run() }
        #expect(
            "\(refused!)".contains("buffer-type=native: the handler doesn't accept native frames"),
            "\(refused!)")
        // Encoded video doesn't link to a pipe of raw frames.
        #expect(throws: GraphError.self) { try Graph("videotestsrc ! jpegenc ! rawdatapipe") }
        #expect(throws: GraphError.self) { try Graph("videotestsrc ! rawdatapipe buffer-type=encoded") }
    }
}
