import Foundation
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests the size of frames that leave a session: the largest that its readers request, scaled once for all.
@Suite struct ResolutionDemandTests {
    init() throws { try Nodes.register() }

    /// A user who sends a frame for each call of `send`.
    private struct Publisher {
        let graph: Graph
        let source = RecordingSource()
        let room: String
        var stream: RoomStream { Room.named(room, over: .roomLink).stream(StreamKey(user: "bob", kind: .camera)) }

        /// - Parameter beside: a branch outside of the session that gets the same frames.
        init(_ room: String, beside: String = "fakesink async=false") throws {
            self.room = room
            graph = try Graph(
                """
                mediasession name=call room="\(room)" user=bob
                videosource name=camera ! tee name=t ! queue ! call.camera  t. ! queue ! \(beside)
                """)
            try graph.videoSource("camera").attach(source)
        }

        func send(
            _ width: Int = 640, _ height: Int = 360, _ format: VideoFormat = .i420, rotation: Rotation = .none,
            pixelAspectRatio: Fraction = Fraction(1, 1), seed: Int = 0
        ) throws {
            try sendNow(
                source.sender, patternedFrame(format, width: width, height: height, seed: seed),
                FrameDescription(
                    width: width, height: height, format: FrameFormat(format), rotation: rotation,
                    framesPerSecond: Fraction(30, 1), pixelAspectRatio: pixelAspectRatio,
                    timestamp: source.sender.runningTime))
        }
    }

    /// A frame that a pipe received.
    private struct Seen: Sendable, Equatable {
        var size: String
        var rotation: Rotation
        var timestamp: ClockTime?
        var captureTime: Date?
        var aspect: Fraction
        var bytes: [UInt8]

        init(_ frame: borrowing VideoFrame) {
            size = "\(frame.width)x\(frame.height)"
            rotation = frame.rotation
            timestamp = frame.presentationTimestamp
            captureTime = frame.captureTime
            aspect = frame.info.pixelAspectRatio
            bytes = frame.packedBytes
        }
    }

    private static func address(_ frame: borrowing VideoFrame) throws -> UInt {
        try frame.plane(.y).bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    }

    /// The height of the frames at an element's sink pad.
    private func height(at name: String, of graph: Graph) -> Int? {
        (try? graph.element(name))?.staticPad("sink")?.currentCaps.flatMap(VideoInfo.init)?.height
    }

    private final class Delegate: RawDataDelegate {
        let sizes = Log<String>()
        func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) {
            sizes.add("\(frame.width)x\(frame.height)")
        }
    }

    // MARK: Shared scaling

    @Test(
        "RP-2 ten pipes of 180 lines share memory that is scaled once, and a native pipe gets the sender's"
    )
    func onceForAll() async throws {
        let room = #function
        let addresses = Log<UInt>()
        let own = Log<UInt>()
        let sessions = (0..<10).map {
            """
            mediasession name=c\($0) room="\(room)" user=r\($0)  c\($0).video_bob ! rawdatapipe name=p\($0) resolution=180p
            """
        }
        let readers = try Graph(sessions.joined(separator: "\n") + "\nc0.preview ! fakesink  c1.preview ! fakesink")
        for index in 0..<10 {
            try readers.rawDataPipe("p\(index)").receive { try addresses.add(Self.address($0)) }
        }
        let native = try Graph("mediasession name=call room=\"\(room)\" user=n  call.video_bob ! rawdatapipe name=p")
        try native.rawDataPipe("p").receive { try own.add(Self.address($0)) }
        let bob = try Publisher(room, beside: "rawdatapipe name=sent")
        try bob.graph.rawDataPipe("sent").receive { try own.add(Self.address($0)) }
        for graph in [readers, native, bob.graph] { try await graph.start() }
        for count in 1...5 {
            try bob.send(seed: count)
            #expect(waitUntil { addresses.all.count == count * 10 && own.all.count == count * 2 })
            #expect(Set(addresses.all.suffix(10)).count == 1)
            #expect(Set(own.all.suffix(2)).count == 1)
            // Compares within one frame, because a later one may reuse an earlier one's memory.
            #expect(Set(own.all.suffix(2)).isDisjoint(with: addresses.all.suffix(10)))
            #expect(bob.stream.format?.scaler(.p180)?.count == count)
        }
        for index in 0..<10 { #expect(height(at: "p\(index)", of: readers) == 180) }
        #expect(height(at: "p", of: native) == 360)
        await readers.stop()
        // The scaler is gone with its last reader.
        weak var scaler: FrameScaler?
        scaler = bob.stream.format?.scaler(.p180)
        #expect(scaler == nil)
        for graph in [native, bob.graph] { await graph.stop() }
    }

    @Test(
        "RP-2 a session scales exactly as a pipe would, and keeps rotation and times",
        arguments: [
            (VideoFormat.i420, 640, 360, Fraction(1, 1), Rotation.none),
            (.i420, 853, 481, Fraction(1, 1), .clockwise90),
            (.nv12, 854, 480, Fraction(1, 1), .clockwise270), (.bgra, 500, 333, Fraction(1, 1), .none),
            (.a420, 322, 242, Fraction(1, 1), .none), (.i420, 720, 576, Fraction(16, 11), .none),
            (.rgba, 320, 181, Fraction(10, 11), .clockwise180), (.i420, 320, 180, Fraction(1, 1), .none),
        ])
    func asThePipeAlone(
        format: VideoFormat, width: Int, height: Int, aspect: Fraction, rotation: Rotation
    ) async throws {
        let room = "\(#function) \(format) \(width)x\(height)"
        let text = "rawdatapipe name=p resolution=180p format=\(format.gstreamerName)"
        let bob = try Publisher(room, beside: text)
        let reader = try Graph("mediasession name=call room=\"\(room)\" user=alice  call.video_bob ! \(text)")
        let (alone, scaled) = (Log<Seen>(), Log<Seen>())
        try bob.graph.rawDataPipe("p").receive { alone.add(Seen($0)) }
        try reader.rawDataPipe("p").receive { scaled.add(Seen($0)) }
        for graph in [reader, bob.graph] { try await graph.start() }
        for count in 1...2 {
            try bob.send(width, height, format, rotation: rotation, pixelAspectRatio: aspect, seed: count)
            #expect(waitUntil { alone.all.count == count && scaled.all.count == count })
        }
        // Compares outside of the expectation, because printing the long arrays takes too long.
        let isSame = alone.all == scaled.all
        #expect(isSame, "\(scaled.all.map(\.size)), \(scaled.all.map(\.rotation))")
        #expect(scaled.all.allSatisfy { $0.rotation == rotation && $0.captureTime != nil })
        #expect(try #require(self.height(at: "p", of: reader)) <= 180)
        for graph in [reader, bob.graph] { await graph.stop() }
    }

    @Test(
        "RP-2 streams that can't be scaled, and small ones, pass a session unchanged",
        arguments: [
            "video/x-h264,width=1280,height=720,alignment=au", "audio/x-raw,format=S16LE,rate=48000,channels=2",
            "video/x-raw(memory:DMABuf),format=I420,width=1280,height=720,framerate=30/1",
            "video/x-raw,format=I420,width=720,height=576,framerate=25/1,interlace-mode=interleaved",
            "video/x-raw,format=I420,width=320,height=180,framerate=30/1",
        ])
    func notScaled(caps: String) throws {
        let format = StreamFormat(try #require(Caps(caps)))
        for resolution in [Resolution.native, .p180] { #expect(format.scaler(resolution) == nil) }
    }

    // MARK: While it runs

    @Test("RP-2 a session sends the size that its most demanding delegate needs at each time")
    func changes() async throws {
        let room = #function
        let bob = try Publisher(room)
        let reader = try Graph(
            "mediasession name=call room=\"\(room)\" user=alice  call.video_bob ! rawdatapipe name=p")
        for graph in [reader, bob.graph] { try await graph.start() }
        func isSent(_ lines: Int) -> Bool {
            waitUntil {
                try? bob.send()
                // Another process would get the same request.
                let demand = lines == 360 ? Resolution.native : Resolution(rawValue: Int32(lines))
                return height(at: "p", of: reader) == lines && bob.stream.demand == demand
            }
        }
        let pipe = try reader.rawDataPipe("p")
        let (small, middle, full) = (Delegate(), Delegate(), Delegate())
        // Without delegates the pipe's property applies.
        #expect(isSent(360))
        try pipe.subscribe(small, resolution: .p90)
        #expect(isSent(90))
        try pipe.subscribe(middle, resolution: .p180)
        #expect(isSent(180))
        try pipe.subscribe(full, resolution: .native)
        #expect(isSent(360))
        // Frames on their way at the time of the subscription are smaller.
        #expect(waitUntil { full.sizes.all.last == "640x360" })
        try await pipe.unsubscribe(full)
        #expect(isSent(180))
        try await pipe.unsubscribe(middle)
        #expect(middle.sizes.all.contains("320x180") && !middle.sizes.all.contains("640x360"))
        #expect(isSent(90))
        #expect(Set(small.sizes.all) == ["160x90"])
        for graph in [reader, bob.graph] { await graph.stop() }
    }

    @Test("RP-2 behind a tee the largest request counts, and a sink without a request gets full size")
    func tee() async throws {
        let room = #function
        let bob = try Publisher(room)
        let reader = try Graph(
            """
            mediasession name=call room="\(room)" user=alice
            call.video_bob ! tee name=t ! queue ! rawdatapipe name=p90 resolution=90p
            t. ! queue ! videoconvert ! rawdatapipe name=p180 resolution=180p
            """)
        let sizes = Log<String>()
        for name in ["p90", "p180"] {
            try reader.rawDataPipe(name).receive { sizes.add("\(name) \($0.width)x\($0.height)") }
        }
        for graph in [reader, bob.graph] { try await graph.start() }
        func isSent(_ lines: Int) -> Bool {
            waitUntil {
                try? bob.send()
                return height(at: "p90", of: reader) == lines && height(at: "p180", of: reader) == lines
            }
        }
        #expect(isSent(180))
        let sink = try #require(Element(factory: "fakesink"))
        try sink.setProperty("async", to: false)
        reader.pipeline.add(sink)
        sink.syncState()
        let branch = try #require(reader.element("t").requestPad("src_%u"))
        #expect(branch.link(to: try #require(sink.staticPad("sink"))))
        #expect(isSent(360))
        // A stream's size changes before its frames arrive.
        let expected: Set = ["p90 160x90", "p180 320x180"]
        #expect(
            waitUntil {
                try? bob.send()
                return Set(sizes.all).isSuperset(of: expected)
            })
        #expect(Set(sizes.all) == expected)
        for graph in [reader, bob.graph] { await graph.stop() }
    }

    @Test("PP-1 a pre-processor between session and pipe gets unscaled frames while it has a handler")
    func preprocessor() async throws {
        struct Look: VideoProcessor {
            func process(_ frame: inout VideoFrame) throws -> Verdict { .pass }
        }
        let room = #function
        let bob = try Publisher(room)
        let reader = try Graph(
            """
            mediasession name=call room="\(room)" user=alice
            call.video_bob ! preprocessor name=mark ! rawdatapipe name=p resolution=180p
            """)
        for graph in [reader, bob.graph] { try await graph.start() }
        func isSent(_ lines: Int) -> Bool {
            waitUntil {
                try? bob.send()
                return height(at: "p", of: reader) == lines
            }
        }
        #expect(isSent(180))
        try reader.preprocessor("mark").attach(Look())
        #expect(isSent(360))
        try reader.preprocessor("mark").detach()
        #expect(isSent(180))
        for graph in [reader, bob.graph] { await graph.stop() }
    }

    @Test("RP-2 a session doesn't scale down if caps in between need a larger size")
    func enlarged() async throws {
        let room = #function
        let bob = try Publisher(room)
        let reader = try Graph(
            """
            mediasession name=call room="\(room)" user=alice
            call.video_bob ! videoscale name=s ! video/x-raw,height=360 ! rawdatapipe name=p resolution=180p
            """)
        let sizes = Log<String>()
        try reader.rawDataPipe("p").receive { sizes.add("\($0.width)x\($0.height)") }
        for graph in [reader, bob.graph] { try await graph.start() }
        for count in 1...3 {
            try bob.send()
            #expect(waitUntil { sizes.all.count == count })
        }
        #expect(height(at: "s", of: reader) == 360 && Set(sizes.all) == ["320x180"])
        for graph in [reader, bob.graph] { await graph.stop() }
    }

    @Test("RP-2 a pipe keeps its requested size when the stream's size changes and the user comes back")
    func sizeChangeAndReturn() async throws {
        struct Recorder: VideoConsumer {
            let log: Log<String>
            func statusChanged(isOn: Bool) { log.add(isOn ? "on" : "off") }
            func receive(_ frame: borrowing VideoFrame) { log.add("\(frame.width)x\(frame.height)") }
        }
        let room = #function
        let reader = try Graph(
            "mediasession name=call room=\"\(room)\" user=alice  call.video_bob ! rawdatapipe name=p resolution=180p")
        let log = Log<String>()
        try reader.rawDataPipe("p").attach(Recorder(log: log))
        try await reader.start()
        let round = ["on", "320x180", "160x90", "320x180", "180x180", "off"]
        for count in 1...2 {
            let bob = try Publisher(room)
            try await bob.graph.start()
            for (index, size) in [(640, 360), (160, 90), (1280, 720), (512, 512)].enumerated() {
                try bob.send(size.0, size.1)
                #expect(waitUntil { log.all.count == (count - 1) * round.count + index + 2 })
                #expect(height(at: "p", of: reader) == min(size.1, 180))
            }
            await bob.graph.stop()
            #expect(waitUntil { log.all.count == count * round.count })
        }
        #expect(log.all == round + round)
        await reader.stop()
    }

    // MARK: Isolation

    @Test(
        "SE-4 a blocked reader of a shared scaled stream only loses its own frames"
    )
    func stuck() async throws {
        let room = #function
        let isHeld = BlockingMonitor(true)
        let text = "call.video_bob ! rawdatapipe name=p resolution=180p"
        let stuck = try Graph("mediasession name=call room=\"\(room)\" user=alice  \(text)")
        try stuck.rawDataPipe("p").receive { _ in _ = isHeld.wait { $0 ? nil : true } }
        let reader = try Graph("mediasession name=call room=\"\(room)\" user=carol  \(text) max-frames=50")
        let sizes = Log<String>()
        try reader.rawDataPipe("p").receive { sizes.add("\($0.width)x\($0.height)") }
        let bob = try Publisher(room)
        for graph in [stuck, reader, bob.graph] { try await graph.start() }
        for count in 1...50 {
            try bob.send()
            #expect(waitUntil { sizes.all.count == count })
        }
        #expect(try #require(NodeCounts(reader.element("call"))).dropped == 0)
        // A reader that falls behind while it takes a frame may have to scale it again.
        #expect((50...60).contains(bob.stream.format?.scaler(.p180)?.count ?? 0))
        let lost =
            try #require(NodeCounts(stuck.element("call"))).dropped + stuck.rawDataPipe("p").statistics.dropped
        #expect((30...50).contains(lost))
        isHeld.withLock { $0 = false }
        for graph in [stuck, reader, bob.graph] { await graph.stop() }
    }
}
