import CMediaGraphABI
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph

@Suite struct FrameObserverTests {
    init() throws { try Nodes.register() }

    private struct Observer: FrameObserver {
        var preference = FramePreference()
        let body: @Sendable (borrowing VideoFrame) throws -> Verdict
        func observe(_ frame: borrowing VideoFrame) throws -> Verdict { try body(frame) }
    }

    private struct Editor: FrameEditor {
        var preference = FramePreference()
        let body: @Sendable (inout VideoFrame) throws -> Verdict
        func edit(_ frame: inout VideoFrame) throws -> Verdict { try body(&frame) }
    }

    private static func element(_ mode: ObserverMode) throws -> Element {
        let element = try #require(Element(factory: "frameobserver"))
        try element.setProperty("mode", parsing: mode.nick)
        return element
    }

    private static func harness(
        _ format: VideoFormat, _ width: Int, _ height: Int, _ preference: FramePreference = FramePreference(),
        observe: @escaping @Sendable (borrowing VideoFrame) throws -> Verdict
    ) throws -> Harness {
        let element = try element(.readOnly)
        try NodeDoor.attach(MGFrameObserver(Observer(preference: preference, body: observe), name: "test"), to: element)
        return harness(element, format, width, height)
    }

    private static func harness(
        _ format: VideoFormat, _ width: Int, _ height: Int, _ preference: FramePreference = FramePreference(),
        edit: @escaping @Sendable (inout VideoFrame) throws -> Verdict
    ) throws -> Harness {
        let element = try element(.readWrite)
        try NodeDoor.attach(MGFrameObserver(Editor(preference: preference, body: edit), name: "test"), to: element)
        return harness(element, format, width, height)
    }

    private static func harness(_ element: Element, _ format: VideoFormat, _ width: Int, _ height: Int) -> Harness {
        let harness = Harness(element, sink: "sink", source: "src")
        harness.setSourceCaps(
            "video/x-raw,format=\(format.gstreamerName),width=\(width),height=\(height),framerate=30/1")
        return harness
    }

    /// The rows of a packed 4-byte frame as numbers: each pixel's first byte.
    private static func rows(_ frame: borrowing VideoFrame) throws -> [[UInt8]] {
        let plane = try frame.plane(.packed)
        return (0..<plane.height).map { y in (0..<plane.width).map { x in plane.row(y)[x * 4] } }
    }

    /// 3×2 pixels of RGBA, numbered, that say how to be turned.
    private static func numbered(_ rotation: Rotation) -> Buffer {
        let buffer = Buffer((1...6).flatMap { [UInt8($0), 0, 0, 255] })
        Rotation.meta.set(rotation.rawValue, on: buffer.access)
        return buffer
    }

    // MARK: FO-2

    @Test("FO-2 read-only shows the stream's own bytes where they are what it prefers, and the very buffer goes on")
    func readOnlyDirect() throws {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 96, alignment: 16)
        defer { memory.deallocate() }
        memory.initializeMemory(as: UInt8.self, repeating: 9)
        let seen = Log<UInt>()
        let harness = try Self.harness(.i420, 16, 4) { (frame: borrowing VideoFrame) in
            let address = try frame.plane(.y).bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
            seen.add(address)
            return .pass
        }
        let buffer = Buffer(wrapping: memory, context: nil, release: nil)
        let address = buffer.address
        harness.push(buffer.retained)
        guard let out = harness.pull() else {
            Issue.record("nothing came out")
            return
        }
        #expect(seen.all == [UInt(bitPattern: memory.baseAddress)])
        #expect(out.address == address)
    }

    @Test(
        "FO-2 read-only in another format shows a copy, and the very buffer goes on untouched",
        arguments: VideoFormat.allCases)
    func readOnlyConverted(format: VideoFormat) throws {
        let seen = Log<VideoFormat>()
        let harness = try Self.harness(.i420, 16, 4, FramePreference(format: format)) { (frame: borrowing VideoFrame) in
            seen.add(frame.format)
            return .pass
        }
        let bytes = patternedFrame(width: 16, height: 4)
        let buffer = Buffer(bytes)
        let address = buffer.address
        harness.push(buffer)
        guard let out = harness.pull() else {
            Issue.record("nothing came out")
            return
        }
        #expect(seen.all == [format])
        #expect(out.address == address && out.bytes == bytes)
    }

    @Test("FO-2 without an observer the very buffer goes on, and is counted")
    func passThrough() throws {
        let element = try Self.element(.readWrite)
        let harness = Self.harness(element, .i420, 16, 4)
        let buffer = Buffer([UInt8](repeating: 9, count: 96))
        let address = buffer.address
        harness.push(buffer.retained)
        #expect(harness.pull()?.address == address)
        #expect(NodeCounts(element)?.frames == 1)
    }

    @Test(
        "FO-2 read-write in the stream's own format edits in place, and a frame that another branch shares is copied first"
    )
    func readWriteDirect() throws {
        let harness = try Self.harness(.i420, 16, 4) { (frame: inout VideoFrame) in
            var luma = try frame.mutablePlane(.y)
            luma.fill(rows: 0..<4, with: 1)
            return .pass
        }
        let own = Buffer([UInt8](repeating: 9, count: 96))
        let address = own.address
        harness.push(own)
        #expect(harness.pull()?.address == address)
        let shared = Buffer([UInt8](repeating: 9, count: 96))
        harness.push(shared.retained)
        guard let out = harness.pull() else {
            Issue.record("nothing came out")
            return
        }
        #expect(out.address != shared.address && out.bytes.prefix(64).allSatisfy { $0 == 1 })
        #expect(shared.bytes == [UInt8](repeating: 9, count: 96))
    }

    @Test(
        "FO-2 an observer that doesn't fit the mode is a typed error that names both, attached or by name",
        arguments: [ObserverMode.readOnly, .readWrite])
    func wrongMode(mode: ObserverMode) async throws {
        let graph = try Graph("videotestsrc num-buffers=2 ! frameobserver name=o mode=\(mode.nick) ! fakesink")
        let node = try graph.frameObserver("o")
        let error = #expect(throws: MediaGraphError.self) {
            if mode == .readOnly { try node.edit { _ in .pass } } else { try node.observe { _ in .pass } }
        }
        #expect(error?.code == .invalidParameter && error?.detail.actual == mode.nick)
        try node.set("handler", to: mode == .readOnly ? "invert" : "count")
        let failure = await #expect(throws: GraphError.self) { try await graph.run() }
        #expect("\(failure!)".contains("got \(mode.nick)"), "\(failure!)")
    }

    // MARK: FO-3

    @Test("FO-3 a dropped frame goes no further and is counted", arguments: [ObserverMode.readOnly, .readWrite])
    func drops(mode: ObserverMode) async throws {
        let graph = try Graph(
            """
            videosource handler=counter pace=fast options="frames=30,width=64,height=48" !
            frameobserver name=o mode=\(mode.nick) ! rawdatapipe name=pipe
            """)
        let node = try graph.frameObserver("o")
        if mode == .readOnly {
            try node.observe { try FrameNumber.read($0) % 3 == 0 ? .pass : .drop }
        } else {
            try node.edit { try FrameNumber.read($0) % 3 == 0 ? .pass : .drop }
        }
        let arrivals = Log<UInt32>()
        try graph.rawDataPipe("pipe").receive { arrivals.add(try FrameNumber.read($0)) }
        try await graph.run()
        #expect(arrivals.all == (0..<10).map { $0 * 3 })
        #expect(node.statistics.dropped == 20 && node.statistics.frames == 10)
    }

    @Test("FO-3 an observer that fails, or says so by its verdict, ends the graph with its name and reason")
    func fails() async throws {
        struct Broken: Error {}
        let bodies: [(@Sendable (borrowing VideoFrame) throws -> Verdict, String)] = [
            ({ _ in throw Broken() }, "Broken()"), ({ _ in .fail("seen enough") }, "ended the stream: seen enough"),
        ]
        for (body, text) in bodies {
            let graph = try Graph("videotestsrc num-buffers=9 ! frameobserver name=o ! fakesink")
            try graph.frameObserver("o").observe(FramePreference(), body)
            let error = await #expect(throws: GraphError.self) { try await graph.run() }
            #expect("\(error!)".contains(text) && "\(error!)".contains("ClosureObserver"), "\(error!)")
        }
    }

    // MARK: FO-4

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
        let element = try Self.element(.readOnly)
        try NodeDoor.attach(MGFrameObserver(Plain(log: log), name: "test"), to: element)
        let harness = Self.harness(element, .rgba, 3, 2)
        harness.push(Self.numbered(.clockwise90))
        #expect(log.all == ["i420 3×2 clockwise90"])
    }

    @Test(
        "FO-4 the preference is asked at registration and after it changed, not in between; each time a message says so"
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

    private static let turns: [(Rotation, Bool, Bool, [[UInt8]])] = [
        (.clockwise90, false, false, [[1, 2, 3], [4, 5, 6]]),
        (.none, true, false, [[1, 2, 3], [4, 5, 6]]),
        (.clockwise90, true, false, [[4, 1], [5, 2], [6, 3]]),
        (.clockwise180, true, false, [[6, 5, 4], [3, 2, 1]]),
        (.clockwise270, true, false, [[3, 6], [2, 5], [1, 4]]),
        (.none, false, true, [[3, 2, 1], [6, 5, 4]]),
        (.clockwise90, false, true, [[3, 2, 1], [6, 5, 4]]),
        (.clockwise90, true, true, [[1, 4], [2, 5], [3, 6]]),
        (.clockwise180, true, true, [[4, 5, 6], [1, 2, 3]]),
        (.clockwise270, true, true, [[6, 3], [5, 2], [4, 1]]),
    ]

    @Test(
        "FO-4 rotation applied turns each frame upright by its own rotation, mirror applied mirrors it; the stream goes on as it was"
    )
    func turned() throws {
        for (rotation, turns, mirrors, expected) in Self.turns {
            let seen = Log<([[UInt8]], Rotation)>()
            let preference = FramePreference(format: .rgba, appliesRotation: turns, appliesMirror: mirrors)
            let harness = try Self.harness(.rgba, 3, 2, preference) { (frame: borrowing VideoFrame) in
                seen.add((try Self.rows(frame), frame.rotation))
                return .pass
            }
            let buffer = Self.numbered(rotation)
            let (address, bytes) = (buffer.address, buffer.bytes)
            harness.push(buffer)
            guard let out = harness.pull() else {
                Issue.record("nothing came out")
                return
            }
            #expect(seen.all.first?.0 == expected, "\(rotation) \(turns) \(mirrors)")
            #expect(seen.all.first?.1 == (turns ? Rotation.none : rotation))
            #expect(out.address == address && out.bytes == bytes && Rotation(of: out.access) == rotation)
        }
    }

    @Test("FO-4 what an editor writes into a turned and mirrored frame goes on where the stream has it")
    func turnedBack() throws {
        for (rotation, turns, mirrors, expected) in Self.turns {
            let preference = FramePreference(format: .rgba, appliesRotation: turns, appliesMirror: mirrors)
            let harness = try Self.harness(.rgba, 3, 2, preference) { (frame: inout VideoFrame) in
                var pixels = try frame.mutablePlane(.packed)
                pixels.bytes[0] += 100
                return .pass
            }
            harness.push(Self.numbered(rotation))
            guard let out = harness.pull() else {
                Issue.record("nothing came out")
                return
            }
            let edited = expected[0][0]
            let numbers = stride(from: 0, to: 24, by: 4).map { out.bytes[$0] }
            #expect(numbers == (1...6).map { $0 == edited ? $0 + 100 : $0 }, "\(rotation) \(turns) \(mirrors)")
            #expect(Rotation(of: out.access) == rotation)
        }
    }

    @Test(
        "FO-4 read-write in every format, RGBA too: what is written is what goes on, in the stream's format",
        arguments: VideoFormat.allCases, [VideoFormat.i420, .rgba])
    func readWrite(format: VideoFormat, stream: VideoFormat) throws {
        let harness = try Self.harness(stream, 16, 4, FramePreference(format: format)) { (frame: inout VideoFrame) in
            try Self.paintRed(&frame)
            return .pass
        }
        harness.push(patternedFrame(stream, width: 16, height: 4))
        guard let out = harness.pull() else {
            Issue.record("nothing came out")
            return
        }
        // The converter's integers are up to three off.
        func isNear(_ bytes: ArraySlice<UInt8>, _ expected: [Int]) -> Bool {
            bytes.enumerated().allSatisfy { abs(Int($1) - expected[$0 % expected.count]) <= 3 }
        }
        let bytes = out.bytes
        if stream == .i420 {
            #expect(isNear(bytes[..<64], [81]) && isNear(bytes[64..<80], [90]) && isNear(bytes[80...], [240]))
        } else {
            #expect(isNear(bytes[...], [255, 0, 0, 255]))
        }
    }

    /// Red; in YUV of limited range by BT.601, which GStreamer takes small pictures to have.
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
        #expect("\(error!)".contains("videoflip takes"), "\(error!)")
    }

    // MARK: The element

    @Test(
        "EL-3 DMABuf caps pass a frameobserver without observer, and are refused with both sides named where there is one"
    )
    func capsFeatures() throws {
        let caps = "video/x-raw(memory:DMABuf),format=NV12,width=16,height=4,framerate=30/1"
        let without = Harness(try Self.element(.readOnly), sink: "sink", source: "src")
        without.setSourceCaps(caps)
        #expect(without.push([UInt8](repeating: 1, count: 96)) == .ok)
        let pipeline = try Pipeline(
            parsing: "appsrc name=src caps=\"\(caps)\" ! frameobserver handler=count ! fakesink")
        let errors = Log<String>()
        pipeline.onMessage { if case .error(let report) = $0.kind { errors.add("\(report.error) \(report.debug)") } }
        pipeline.setState(.playing)
        let source = try #require(pipeline.element(named: "src").flatMap(AppSource.init(wrapping:)))
        _ = source.push(Buffer([UInt8](repeating: 1, count: 96)))
        #expect(waitUntil { !errors.all.isEmpty })
        let text = errors.all.first ?? ""
        #expect(text.contains("memory:DMABuf") && text.contains("can be shown"), "\(errors.all)")
        pipeline.setState(.null)
    }

    @Test("EL-6 interlaced frames are shown, but not turned: an error says so")
    func interlaced() async throws {
        let source =
            "videotestsrc num-buffers=2 ! video/x-raw,format=I420,width=16,height=16,interlace-mode=interleaved"
        let graph = try Graph("\(source) ! frameobserver name=o ! fakesink")
        let seen = Log<Bool>()
        try graph.frameObserver("o").observe { frame in
            seen.add(frame.isInterlaced)
            return .pass
        }
        try await graph.run()
        #expect(seen.all == [true, true])
        let error = #expect(throws: MediaGraphError.self) {
            let caps = try #require(
                Caps("video/x-raw,format=I420,width=16,height=16,framerate=30/1,interlace-mode=interleaved"))
            let plan = try ObserverPlan(caps, FramePreference(appliesRotation: true), edits: false)
            let buffer = Buffer(patternedFrame(width: 16, height: 16))
            _ = try plan.copy(buffer.access, .clockwise90).address
        }
        #expect(error?.detail.expected.contains("progressive") == true)
    }

    @Test("FO-1 position and mode are locked while running")
    func locked() throws {
        let pipeline = try Pipeline(parsing: "videotestsrc ! frameobserver name=o position=pre-renderer ! fakesink")
        let element = try #require(pipeline.element(named: "o"))
        pipeline.setState(.paused)
        for (property, value) in [("position", "post-capture"), ("mode", "read-write")] {
            #expect(throws: PropertyError.self) { try element.setProperty(property, parsing: value) }
        }
        #expect(try element.property("position", as: FramePosition.self) == .preRenderer)
        pipeline.setState(.null)
    }

    @Test("FO-2 observers are given, replaced and taken away while frames flow")
    func swapped() throws {
        let harness = try Self.harness(.i420, 16, 4) { (frame: inout VideoFrame) in
            var luma = try frame.mutablePlane(.y)
            luma.fill(rows: 0..<4, with: 1)
            return .pass
        }
        func luma() -> UInt8? {
            harness.push([UInt8](repeating: 9, count: 96))
            return harness.pull()?.bytes[5]
        }
        #expect(luma() == 1)
        try NodeDoor.attach(nil as MGFrameObserver?, to: harness.element)
        #expect(luma() == 9)
        let other = Editor(preference: FramePreference(format: .nv12)) { frame in
            var luma = try frame.mutablePlane(.y)
            luma.fill(rows: 0..<4, with: 2)
            return .pass
        }
        try NodeDoor.attach(MGFrameObserver(other, name: "test"), to: harness.element)
        #expect(luma() == 2)
    }
}
