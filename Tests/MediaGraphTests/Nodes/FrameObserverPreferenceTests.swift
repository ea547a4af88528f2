import CMediaGraphABI
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphHandlers

/// Tests an observer's preferred format, rotation and mirroring.
@Suite struct FrameObserverPreferenceTests {
    init() throws { try Nodes.register() }

    @Test("FO-4 the default preference is I420, neither turned nor mirrored")
    func defaults() throws {
        struct Plain: FrameObserver {
            let log: Log<String>
            func observe(_ frame: borrowing VideoFrame) -> Verdict {
                log.add("\(frame.format) \(frame.width)×\(frame.height) \(frame.rotation)")
                return .pass
            }
        }
        let log = Log<String>()
        let element = try ObserverHarness.element(.readOnly)
        try NodeVTable.attach(MGFrameObserver(Plain(log: log), name: "test"), to: element)
        let harness = ObserverHarness.make(element, .rgba, 3, 2)
        harness.push(ObserverHarness.numbered(.clockwise90))
        #expect(log.all == ["i420 3×2 clockwise90"])
    }

    @Test(
        "FO-4 the preference is read at registration and after each change, with a message each time"
    )
    func asked() async throws {
        final class Wish: Sendable {
            let format = Mutex(VideoFormat.i420)
            let asked = Atomic<Int>(0)
        }
        struct Changing: FrameObserver {
            let wish: Wish
            let seen: Log<VideoFormat>
            var registration: ObserverRegistration?
            var preference: FramePreference {
                wish.asked.wrappingAdd(1, ordering: .relaxed)
                return FramePreference(format: wish.format.withLock { $0 })
            }
            init(wish: Wish, seen: Log<VideoFormat>) { (self.wish, self.seen) = (wish, seen) }
            mutating func registered(_ registration: ObserverRegistration) { self.registration = registration }
            mutating func observe(_ frame: borrowing VideoFrame) -> Verdict {
                seen.add(frame.format)
                if seen.all.count == 3 {
                    wish.format.withLock { $0 = .rgba }
                    registration?.preferenceChanged()
                }
                return .pass
            }
        }
        let (wish, seen) = (Wish(), Log<VideoFormat>())
        let graph = try Graph(
            """
            videosource handler=counter pace=fast options="frames=6,width=64,height=48" !
            frameobserver name=o position=pre-encoder ! fakesink
            """)
        try graph.frameObserver("o").attach(Changing(wish: wish, seen: seen))
        let events = graph.events
        try await graph.run()
        #expect(seen.all == [.i420, .i420, .i420, .rgba, .rgba, .rgba])
        #expect(wish.asked.load(ordering: .relaxed) == 2)
        var messages: [String] = []
        for await case .element("o", let message) in events where message.name == "mediagraph-frame-preference" {
            messages.append("\(message.text("position") ?? "") \(message.text("format") ?? "")")
        }
        #expect(messages == ["pre-encoder I420", "pre-encoder RGBA"])
    }

    @Test("FO-4 new caps and new runs don't read the preference again")
    func askedOnce() throws {
        final class Asked: Sendable { let times = Atomic<Int>(0) }
        struct Observer: FrameObserver {
            let asked: Asked
            let seen: Log<String>
            var preference: FramePreference {
                asked.times.wrappingAdd(1, ordering: .relaxed)
                return FramePreference(format: .nv12)
            }
            func observe(_ frame: borrowing VideoFrame) -> Verdict {
                seen.add("\(frame.format) \(frame.width)×\(frame.height)")
                return .pass
            }
        }
        let (asked, seen) = (Asked(), Log<String>())
        let element = try ObserverHarness.element(.readOnly)
        try NodeVTable.attach(MGFrameObserver(Observer(asked: asked, seen: seen), name: "test"), to: element)
        for _ in 0..<2 {
            let harness = ObserverHarness.make(element, .i420, 16, 4)
            harness.push([UInt8](repeating: 9, count: 96))
            harness.setSourceCaps("video/x-raw,format=RGBA,width=32,height=2,framerate=30/1")
            harness.push([UInt8](repeating: 9, count: 256))
            element.setState(.null)
        }
        #expect(seen.all == ["nv12 16×4", "nv12 32×2", "nv12 16×4", "nv12 32×2"])
        #expect(asked.times.load(ordering: .relaxed) == 1)
    }

    private static let turns: [(Rotation, Bool, Bool, [[UInt8]])] = [
        (.clockwise90, false, false, [[1, 2, 3], [4, 5, 6]]),
        (.none, true, false, [[1, 2, 3], [4, 5, 6]]),
        (.clockwise90, true, false, [[4, 1], [5, 2], [6, 3]]),
        (.clockwise180, true, false, [[6, 5, 4], [3, 2, 1]]),
        (.clockwise270, true, false, [[3, 6], [2, 5], [1, 4]]),
        (.none, false, true, [[3, 2, 1], [6, 5, 4]]),
        // Frames that aren't turned are mirrored as they stand upright: by 90 and 270 degrees, that flips them vertically.
        (.clockwise90, false, true, [[4, 5, 6], [1, 2, 3]]),
        (.clockwise180, false, true, [[3, 2, 1], [6, 5, 4]]),
        (.clockwise270, false, true, [[4, 5, 6], [1, 2, 3]]),
        (.none, true, true, [[3, 2, 1], [6, 5, 4]]),
        (.clockwise90, true, true, [[1, 4], [2, 5], [3, 6]]),
        (.clockwise180, true, true, [[4, 5, 6], [1, 2, 3]]),
        (.clockwise270, true, true, [[6, 3], [5, 2], [4, 1]]),
    ]

    @Test(
        "FO-4 an observer can get upright and mirrored frames, and the stream goes on unchanged"
    )
    func turned() throws {
        for (rotation, turns, mirrors, expected) in Self.turns {
            let seen = Log<([[UInt8]], Rotation)>()
            let preference = FramePreference(format: .rgba, appliesRotation: turns, appliesMirror: mirrors)
            let harness = try ObserverHarness.make(.rgba, 3, 2, preference) { (frame: borrowing VideoFrame) in
                seen.add((try ObserverHarness.rows(frame), frame.rotation))
                return .pass
            }
            let buffer = ObserverHarness.numbered(rotation)
            let (address, bytes) = (buffer.address, buffer.bytes)
            harness.push(buffer)
            guard let out = harness.pull() else {
                Issue.record("no frame came out")
                return
            }
            #expect(seen.all.first?.0 == expected, "\(rotation) \(turns) \(mirrors)")
            #expect(seen.all.first?.1 == (turns ? Rotation.none : rotation))
            #expect(out.address == address && out.bytes == bytes && Rotation(of: out.access) == rotation)
        }
    }

    @Test("FO-4 edits in a turned and mirrored frame reach the stream at the right pixels")
    func turnedBack() throws {
        for (rotation, turns, mirrors, expected) in Self.turns {
            let preference = FramePreference(format: .rgba, appliesRotation: turns, appliesMirror: mirrors)
            let harness = try ObserverHarness.make(.rgba, 3, 2, preference) { (frame: inout VideoFrame) in
                var pixels = try frame.mutablePlane(.packed)
                pixels.bytes[0] += 100
                return .pass
            }
            harness.push(ObserverHarness.numbered(rotation))
            guard let out = harness.pull() else {
                Issue.record("no frame came out")
                return
            }
            let edited = expected[0][0]
            let numbers = stride(from: 0, to: 24, by: 4).map { out.bytes[$0] }
            #expect(numbers == (1...6).map { $0 == edited ? $0 + 100 : $0 }, "\(rotation) \(turns) \(mirrors)")
            #expect(Rotation(of: out.access) == rotation)
        }
    }

    @Test(
        "FO-4 edits in each format reach the stream in the stream's own format",
        arguments: VideoFormat.allCases, [VideoFormat.i420, .rgba])
    func readWrite(format: VideoFormat, stream: VideoFormat) throws {
        let harness = try ObserverHarness.make(stream, 16, 4, FramePreference(format: format)) {
            (frame: inout VideoFrame) in
            try Self.paintRed(&frame)
            return .pass
        }
        let sent = patternedFrame(stream, width: 16, height: 4)
        harness.push(sent)
        guard let out = harness.pull() else {
            Issue.record("no frame came out")
            return
        }
        // The converter's integer arithmetic is off by up to three.
        func isNear(_ bytes: ArraySlice<UInt8>, _ expected: [Int]) -> Bool {
            bytes.enumerated().allSatisfy { abs(Int($1) - expected[$0 % expected.count]) <= 3 }
        }
        let bytes = out.bytes
        if stream == .i420 {
            #expect(isNear(bytes[..<64], [81]) && isNear(bytes[64..<80], [90]) && isNear(bytes[80...], [240]))
        } else {
            let colors = bytes.enumerated().filter { $0.offset % 4 != 3 }.map(\.element)
            #expect(isNear(colors[...], [255, 0, 0]))
            // If the editor's format has no alpha, the stream's alpha stays.
            let alpha = stride(from: 3, to: bytes.count, by: 4)
            let hasAlpha = [.a420, .bgra, .rgba, .argb, .abgr].contains(format)
            #expect(alpha.map { bytes[$0] } == alpha.map { hasAlpha ? 255 : sent[$0] })
        }
    }

    /// Fills the frame with red. In YUV it is limited range with BT.601, which GStreamer assumes for small frames.
    private static func paintRed(_ frame: inout VideoFrame) throws {
        let (format, isFull) = (frame.format, frame.colorRange == .full)
        #expect(!format.isYUV || !isFull)
        for plane in format.planes {
            var pixels = try frame.mutablePlane(plane)
            let pattern: [UInt8] =
                switch plane {
                case .y: [81]
                case .u: [90]
                case .v: [240]
                case .uv: format == .nv12 ? [90, 240] : [240, 90]
                case .alpha: [255]
                case .packed:
                    (0..<format.pixelStride(of: .packed)).map {
                        $0 == format.colorOffsets?.red || $0 == format.alphaOffset ? 255 : 0
                    }
                }
            for y in 0..<pixels.height {
                var row = pixels.row(y)
                for x in row.indices { row[x] = pattern[x % pattern.count] }
            }
        }
    }

    @Test("FO-4 a format that can't be turned is an error that says so", arguments: [VideoFormat.i422, .a420])
    func cannotTurn(format: VideoFormat) async throws {
        let graph = try Graph("videotestsrc num-buffers=2 ! frameobserver name=o ! fakesink")
        try graph.frameObserver("o").observe(FramePreference(format: format, appliesMirror: true)) { _ in .pass }
        let error = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(error!)".contains("videoflip accepts"), "\(error!)")
    }

    private final class Asked: Sendable {
        let count = Atomic<Int>(0)
        let registration = Mutex<ObserverRegistration?>(nil)
    }

    private final class End: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        deinit { body() }
    }

    /// `@unchecked Sendable`: everything happens on the test's own thread.
    private struct HarnessBox: @unchecked Sendable { let harness: Harness }

    private struct Asking: FrameObserver {
        let asked: Asked
        var end: End?
        var preference: FramePreference {
            asked.count.wrappingAdd(1, ordering: .relaxed)
            return FramePreference()
        }
        func registered(_ registration: ObserverRegistration) { asked.registration.withLock { $0 = registration } }
        func observe(_ frame: borrowing VideoFrame) -> Verdict { .pass }
    }

    @Test("FO-4 an observer's preference is read again when it reports a change, unless it was replaced")
    func askedByItself() throws {
        let (old, new) = (Asked(), Asked())
        let element = try ObserverHarness.element(.readOnly)
        try NodeVTable.attach(MGFrameObserver(Asking(asked: old), name: "old"), to: element)
        let harness = ObserverHarness.make(element, .i420, 16, 4)
        func show() { harness.push([UInt8](repeating: 9, count: 96)) }
        show()
        try NodeVTable.attach(MGFrameObserver(Asking(asked: new), name: "new"), to: element)
        show()
        old.registration.withLock { $0 }?.preferenceChanged()
        show()
        #expect(new.count.load(ordering: .relaxed) == 1)
        new.registration.withLock { $0 }?.preferenceChanged()
        show()
        show()
        #expect(new.count.load(ordering: .relaxed) == 2)
        #expect(old.count.load(ordering: .relaxed) == 1)
    }

    @Test("FO-4 an observer is asked once if its first frame comes while the old observer is released")
    func askedWhileReplacing() throws {
        let element = try ObserverHarness.element(.readOnly)
        let harness = ObserverHarness.make(element, .i420, 16, 4)
        let shown = Log<FlowReturn>()
        let box = HarnessBox(harness: harness)
        var end: End? = End { shown.add(box.harness.push([UInt8](repeating: 9, count: 96))) }
        try NodeVTable.attach(MGFrameObserver(Asking(asked: Asked(), end: end), name: "old"), to: element)
        end = nil
        let asked = Asked()
        try NodeVTable.attach(MGFrameObserver(Asking(asked: asked), name: "new"), to: element)
        harness.push([UInt8](repeating: 9, count: 96))
        #expect(shown.all == [.ok])
        #expect(asked.count.load(ordering: .relaxed) == 1)
    }

    @Test(
        "FO-4 an editor without alpha keeps the stream's alpha if it has 8 bits, otherwise it is refused",
        arguments: [("ARGB64_LE", 8, false), ("AYUV64", 8, false), ("RGB10A2_LE", 4, false), ("ARGB", 4, true)])
    func alphaDepth(format: String, bytesPerPixel: Int, isKept: Bool) throws {
        let pipeline = try Pipeline(parsing: "frameobserver name=o mode=read-write")
        let element = try #require(pipeline.element(named: "o"))
        let errors = Log<String>()
        pipeline.onMessage { if case .error(let report) = $0.kind { errors.add(report.error.message) } }
        let editor = ObserverHarness.Editor { _ in .pass }
        try NodeVTable.attach(MGFrameObserver(editor, name: "test"), to: element)
        let harness = Harness(element, sink: "sink", source: "src")
        harness.setSourceCaps("video/x-raw,format=\(format),width=8,height=4,framerate=30/1")
        let flow = harness.push([UInt8](repeating: 0x20, count: bytesPerPixel * 32))
        #expect(flow == (isKept ? .ok : .error))
        if isKept {
            #expect(harness.pull()?.bytes[0] == 0x20)
        } else {
            #expect(waitUntil { !errors.all.isEmpty })
            #expect(errors.all.first?.contains(format) == true && errors.all.first?.contains("I420") == true)
        }
    }
}
