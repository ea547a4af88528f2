import CMediaGraphABI
import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests the formats of single subscriptions, and of native frames.
@Suite struct SubscriptionFormatTests {
    init() throws { try Nodes.register() }

    /// Logs frames and native frames as text, with their bytes.
    private final class Delegate: RawDataDelegate {
        struct Seen: Equatable, Sendable {
            var text: String
            var bytes: [UInt8]
        }
        let log = Log<Seen>()
        let addresses = Log<UInt>()

        func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) {
            log.add(
                Seen(text: "\(frame.format.gstreamerName) \(frame.width)x\(frame.height)", bytes: frame.packedBytes))
        }

        func received(_ frame: borrowing NativeVideoFrame, from pipe: PipeIdentity) throws {
            addresses.add(frame.withUnsafeBuffer { UInt(bitPattern: $0) })
            let text = "\(frame.rotation) \(frame.presentationTimestamp?.nanoseconds ?? 0)"
            log.add(
                try frame.withVideoFrame { pixels in
                    Seen(text: "\(pixels.format.gstreamerName) \(text)", bytes: pixels.packedBytes)
                })
        }
    }

    private func subscribe(
        _ delegate: Delegate, _ format: PipeFormat, to pipe: Element
    ) throws(MediaGraphError) {
        try NodeVTable.subscribe(delegate, PipeIdentity(name: pipe.name), .native, format, to: pipe)
    }

    /// Returns a pipe in a harness. A push returns when each delegate has had the frame.
    private func pipe(_ properties: [String: String]) throws -> (Harness, Element) {
        let element = try #require(Element(factory: "rawdatapipe", name: "p"))
        for (property, text) in properties { try element.setProperty(property, parsing: text) }
        try element.setProperty("backpressure", parsing: "block")
        let harness = Harness(element, sink: "sink", source: nil)
        harness.setLive(false)
        return (harness, element)
    }

    // MARK: RP-6

    @Test("RP-6 each subscription may have a format of its own beside its resolution, the others the pipe's")
    func ownFormats() async throws {
        let wanted: [(PipeFormat, Resolution)] = [
            (.auto, .native), (.nv12, .native), (.yuv, .p90), (.rgba, .p90), (.a420, .native), (.i422, .native),
        ]
        let source = "videotestsrc num-buffers=2 ! video/x-raw,format=AYUV,width=320,height=180,colorimetry=bt709"
        let graph = try Graph(
            "\(source) ! tee name=t ! queue ! rawdatapipe name=all format=BGRA "
                + wanted.enumerated().map { index, want in
                    let format = want.0 == .auto ? "BGRA" : want.0.nick
                    return "t. ! queue ! rawdatapipe name=p\(index) format=\(format) resolution=\(want.1.text)"
                }.joined(separator: " "))
        let delegates = wanted.map { _ in (Delegate(), Delegate()) }
        for (index, (format, resolution)) in wanted.enumerated() {
            try graph.rawDataPipe("all").subscribe(delegates[index].0, resolution: resolution, format: format)
            try graph.rawDataPipe("p\(index)").subscribe(delegates[index].1, resolution: resolution)
        }
        try await graph.run()
        for (index, (own, alone)) in delegates.enumerated() {
            #expect(own.log.all.count == 2 && own.log.all == alone.log.all, "\(wanted[index])")
        }
        #expect(
            delegates.map { $0.0.log.all[0].text } == [
                "BGRA 320x180", "NV12 320x180", "I420 160x90", "RGBA 160x90", "A420 320x180", "Y42B 320x180",
            ])
    }

    @Test("RP-6 upstream is asked for the subscriptions' formats first, so that nothing is converted")
    func preferred() async throws {
        for (formats, expected) in [
            ([PipeFormat.nv12], "NV12"), ([.auto, .nv12], "I420"), ([.rgb, .nv12], "BGRA"), ([], "I420"),
        ] {
            let graph = try Graph("videotestsrc num-buffers=1 ! rawdatapipe name=p")
            let delegates = formats.map { (Delegate(), $0) }
            for (delegate, format) in delegates {
                try graph.rawDataPipe("p").subscribe(delegate, resolution: .native, format: format)
            }
            let caps = try #require(try graph.element("p").staticPad("sink")).queryCaps()
            #expect(caps.fixated(near: [])?[0].text("format") == expected, "\(caps)")
            try await graph.run()
            #expect(delegates.allSatisfy { $0.0.log.all.count == 1 })
        }
    }

    @Test("RP-6 a subscription's format that can't be given is an error that names both sides")
    func impossible() throws {
        let (harness, encoded) = try pipe(["buffer-type": "encoded"])
        let type = #expect(throws: MediaGraphError.self) { try subscribe(Delegate(), .nv12, to: encoded) }
        #expect("\(type!)" == "format: expected auto with buffer-type=encoded, got NV12")
        let (_, turned) = try pipe(["apply-rotation": "true"])
        let turning = #expect(throws: MediaGraphError.self) { try subscribe(Delegate(), .a420, to: turned) }
        #expect("\(turning!)".contains("apply-rotation: expected a format that can be turned"), "\(turning!)")
        try subscribe(Delegate(), .nv12, to: turned)
        // Set after subscribing, both are found at the start.
        let (_, later) = try pipe([:])
        let delegate = Delegate()
        try subscribe(delegate, .a420, to: later)
        later.setState(.ready)
        for (property, value) in [("apply-mirror", "true"), ("buffer-type", "encoded")] {
            let before = try later.propertyText(property)
            try later.setProperty(property, parsing: value)
            #expect(later.setState(.paused) == .failure, "\(property)")
            later.setState(.ready)
            try later.setProperty(property, parsing: before)
        }
        later.setState(.null)
        withExtendedLifetime(harness) {}
    }

    // MARK: RP-12

    private static let special = "video/x-raw(memory:CUDAMemory),format=BGRA,width=2,height=2,framerate=30/1"

    @Test("RP-6 RP-12 memory that the CPU can't read is delivered as it is, and never silently unconverted")
    func unreadable() async throws {
        let (harness, native) = try pipe(["buffer-type": "native"])
        let first = Delegate()
        try subscribe(first, .auto, to: native)
        harness.setSourceCaps(Self.special)
        #expect(harness.push([UInt8](repeating: 1, count: 16)) == .ok)
        let error = #expect(throws: MediaGraphError.self) { try subscribe(Delegate(), .nv12, to: native) }
        #expect(error?.code == .unsupported)
        #expect("\(error!)".hasPrefix("conversion to NV12 isn't possible from video/x-raw(memory:CUDAMemory)"))
        try subscribe(Delegate(), .rgb, to: native)
        // A pipe that is set to a format doesn't accept the stream.
        let (refusing, _) = try pipe(["buffer-type": "native", "format": "NV12"])
        refusing.setSourceCaps(Self.special)
        #expect(refusing.push([UInt8](repeating: 1, count: 16)) == .notNegotiated)
        // A subscription from before the stream fails by itself, by the pipe's policy.
        for policy in ["stop", "drop"] {
            let pipeline = try Pipeline(
                parsing: """
                    appsrc name=s format=time caps="\(Self.special)" !
                    rawdatapipe name=p buffer-type=native on-error=\(policy) backpressure=block
                    """)
            let reports = Log<String>()
            pipeline.onMessage { message in
                switch message.kind {
                case .error(let report), .warning(let report):
                    reports.add("\(ElementProblem(report.error).map { "\($0)" } ?? "other") \(report.error.message)")
                default: break
                }
            }
            let element = try #require(pipeline.element(named: "p"))
            let (converted, other) = (Delegate(), Delegate())
            try subscribe(converted, .nv12, to: element)
            try subscribe(other, .auto, to: element)
            let source = try #require(pipeline.element(named: "s").flatMap(AppSource.init(wrapping:)))
            pipeline.setState(.playing)
            _ = source.push(Buffer([UInt8](repeating: 1, count: 16)))
            #expect(waitUntil { !reports.all.isEmpty && other.log.all.count == 1 }, "\(policy)")
            pipeline.setState(.null)
            #expect(
                reports.all.first?.hasPrefix(
                    "notNegotiated p: handler Delegate: conversion to NV12 isn't possible from")
                    == true, "\(reports.all)")
            #expect(converted.log.all.isEmpty)
        }
        let text = "fakesrc ! video/x-raw(memory:CUDAMemory),format=BGRA ! rawdatapipe handler=count buffer-type=native"
        #expect(try problems(in: text + " format=rgb") == [])
        let found = try problems(in: text + " format=NV12")
        #expect(found.count == 1 && found[0].contains("rawdatapipe can't accept"), "\(found)")
    }

    @Test("RP-12 native with a format hands over the stream's own buffer if it has that format")
    func nativeUnconverted() throws {
        for memory in ["", "(memory:DMABuf)"] {
            let (harness, pipe) = try pipe(["buffer-type": "native", "format": "NV12"])
            let delegate = Delegate()
            try subscribe(delegate, .auto, to: pipe)
            harness.setSourceCaps("video/x-raw\(memory),format=NV12,width=16,height=16,framerate=30/1")
            let bytes = patternedFrame(.nv12, width: 16, height: 16)
            let buffer = Buffer(bytes)
            buffer.access.presentationTimestamp = ClockTime(nanoseconds: 5)
            Rotation.meta.set(90, on: buffer.access)
            let address = buffer.address
            harness.push(buffer)
            #expect(delegate.log.all == [.init(text: "NV12 clockwise90 5", bytes: bytes)])
            #expect(delegate.addresses.all == [address])
        }
    }

    @Test("RP-12 native with a format converts other streams as a raw pipe does, with rotation and times")
    func nativeConverted() throws {
        for (memory, format) in [("", PipeFormat.nv12), ("(memory:DMABuf)", .rgb), ("(memory:GLMemory)", .nv12)] {
            let (harness, pipe) = try pipe(["buffer-type": "native", "format": format.nick])
            let (raw, plain) = try self.pipe(["format": format.nick])
            let (delegate, expected) = (Delegate(), Delegate())
            try subscribe(delegate, .auto, to: pipe)
            try subscribe(expected, .auto, to: plain)
            let caps = ",format=I420,width=16,height=16,framerate=30/1"
            harness.setSourceCaps("video/x-raw\(memory)\(caps)")
            raw.setSourceCaps("video/x-raw\(caps)")
            for harness in [harness, raw] {
                let buffer = Buffer(patternedFrame(width: 16, height: 16))
                buffer.access.presentationTimestamp = ClockTime(nanoseconds: 5)
                Rotation.meta.set(270, on: buffer.access)
                harness.push(buffer)
            }
            let name = format.format!.gstreamerName
            #expect(delegate.log.all.map(\.text) == ["\(name) clockwise270 5"])
            #expect(delegate.log.all.map(\.bytes) == expected.log.all.map(\.bytes))
        }
    }

    @Test("RP-12 CR-1 native, RGB and engine render go together, as in ZEGO's document")
    func engineRender() async throws {
        let graph = try Graph(
            """
            videotestsrc num-buffers=3 ! video/x-raw,format=I420,width=16,height=16 !
            rawdatapipe name=app buffer-type=native format=rgb engine-render=true ! rawdatapipe name=engine
            """)
        let (app, engine) = (Delegate(), Delegate())
        try graph.rawDataPipe("app").subscribe(app, resolution: .native)
        try graph.rawDataPipe("engine").subscribe(engine, resolution: .native)
        try await graph.run()
        #expect(app.log.all.count == 3 && app.log.all.allSatisfy { $0.text.hasPrefix("BGRA none") })
        #expect(engine.log.all.map(\.text) == [String](repeating: "I420 16x16", count: 3))
    }

    @Test("RP-12 a native pipe's subscription may ask for a format of its own, and another keeps the stream's")
    func nativeSubscriptions() throws {
        let (harness, pipe) = try pipe(["buffer-type": "native"])
        let (own, stream) = (Delegate(), Delegate())
        try subscribe(own, .rgba, to: pipe)
        try subscribe(stream, .auto, to: pipe)
        harness.setSourceCaps("video/x-raw,format=NV12,width=16,height=16,framerate=30/1")
        let bytes = patternedFrame(.nv12, width: 16, height: 16)
        let buffer = Buffer(bytes)
        let address = buffer.address
        harness.push(buffer)
        #expect(own.log.all.map(\.text) == ["RGBA none 0"])
        #expect(stream.log.all.map(\.bytes) == [bytes] && stream.addresses.all == [address])
    }

    @Test("RP-12 a native frame's planes can be read in plain memory, also once retained, or it's an error")
    func planes() throws {
        let pipe = try #require(Element(factory: "rawdatapipe"))
        try pipe.setProperty("buffer-type", parsing: "native")
        struct Receiver: VideoConsumer {
            let kept: Log<OwnedNativeVideoFrame>
            func receive(_ frame: borrowing NativeVideoFrame) throws { kept.add(try frame.retain()) }
        }
        let kept = Log<OwnedNativeVideoFrame>()
        try NodeVTable.attach(Receiver(kept: kept), to: pipe)
        let harness = Harness(pipe, sink: "sink", source: nil)
        harness.setLive(false)
        let bytes = patternedFrame(.nv12, width: 16, height: 16)
        for (format, count) in [("NV12", 384), ("NV12", 16), ("Y444", 768)] {
            harness.setSourceCaps("video/x-raw,format=\(format),width=16,height=16,framerate=30/1")
            harness.push(Buffer(format == "NV12" ? Array(bytes.prefix(count)) : [UInt8](repeating: 1, count: count)))
        }
        try #require(kept.all.count == 3)
        let lengths = try kept.all[0].withFrame { frame in
            try frame.withVideoFrame { pixels in
                let packed = pixels.packedBytes
                #expect(packed == bytes)
                return [try pixels.plane(.y).byteCount, try pixels.plane(.uv).byteCount]
            }
        }
        #expect(lengths == [256, 128])
        func failure(_ frame: OwnedNativeVideoFrame) -> MediaGraphError? {
            #expect(throws: MediaGraphError.self) { try frame.withFrame { try $0.withVideoFrame { _ in } } }
        }
        #expect(failure(kept.all[1])?.code == .processingFailed)
        #expect(failure(kept.all[2])?.code == .unsupported)
    }
}
