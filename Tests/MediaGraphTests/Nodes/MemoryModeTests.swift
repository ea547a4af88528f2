import CMediaGraphABI
import GStreamer
import MediaGraphTesting
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests the memory modes of pipes and speakers: who may retain how many frames.
@Suite struct MemoryModeTests {
    init() throws { try Nodes.register() }

    private static let caps = "video/x-raw,format=I420,width=16,height=16,framerate=30/1"
    private static let size = 16 * 16 * 3 / 2

    /// Retains each frame, and logs the outcomes.
    private final class Keeper: RawDataDelegate, VideoConsumer {
        let outcomes = Log<String>()
        let frames = Log<OwnedVideoFrame>()
        let natives = Log<OwnedNativeVideoFrame>()
        let units = Log<OwnedEncodedVideoFrame>()

        func receive(_ frame: borrowing VideoFrame) {
            let canRetain = frame.canRetain
            do throws(MediaGraphError) {
                frames.add(try frame.retain())
                outcomes.add("\(canRetain) kept")
            } catch { outcomes.add("\(canRetain) \(error.code)") }
        }
        func receive(_ frame: borrowing NativeVideoFrame) {
            let canRetain = frame.canRetain
            do throws(MediaGraphError) {
                natives.add(try frame.retain())
                outcomes.add("\(canRetain) kept")
            } catch { outcomes.add("\(canRetain) \(error.code)") }
        }
        func receive(_ frame: borrowing EncodedVideoFrame) {
            let canRetain = frame.canRetain
            do throws(MediaGraphError) {
                units.add(try frame.retain())
                outcomes.add("\(canRetain) kept")
            } catch { outcomes.add("\(canRetain) \(error.code)") }
        }
        func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) { receive(frame) }
        func received(_ frame: borrowing NativeVideoFrame, from pipe: PipeIdentity) { receive(frame) }
        func received(_ frame: borrowing EncodedVideoFrame, from pipe: PipeIdentity) { receive(frame) }
    }

    /// Returns a pipe with these properties in a harness. A push returns when each receiver has had the frame.
    private func pipe(_ properties: [(String, String)]) throws -> Element {
        let element = try #require(Element(factory: "rawdatapipe", name: "p"))
        for (property, text) in properties + [("backpressure", "block")] {
            try element.setProperty(property, parsing: text)
        }
        return element
    }

    /// Pushes ten buffers of a pool that has five, or aliases of them. Then stops the pipe.
    private func push(
        _ pool: BoundedPool, into pipe: Element, _ caps: String = caps, asAliases: Bool = false
    ) throws {
        let harness = Harness(pipe, sink: "sink", source: nil)
        harness.setLive(false)
        harness.setSourceCaps(caps)
        for number in 0..<10 {
            guard let buffer = pool.acquire() else { throw MediaGraphError.timeOut(.init("the pool is empty")) }
            buffer.access.fill(with: UInt8(number))
            let result = asAliases ? harness.push(buffer.access.alias) : harness.push(buffer.retained)
            #expect(result == .ok)
        }
        pipe.setState(.null)
    }

    // MARK: RP-7

    @Test("RP-7 with memory-mode=heap, a handler and delegates borrow frames and may retain every one")
    func heap() throws {
        let pool = BoundedPool(Self.caps, size: Self.size, buffers: 5)
        let pipe = try pipe([("memory-mode", "heap")])
        let (handler, delegate) = (Keeper(), Keeper())
        try NodeVTable.attach(handler, to: pipe)
        try NodeVTable.subscribe(delegate, PipeIdentity(name: "p"), .native, to: pipe)
        try push(pool, into: pipe)
        for keeper in [handler, delegate] {
            #expect(keeper.outcomes.all == [String](repeating: "true kept", count: 10))
            let bytes = try keeper.frames.all.map { Set(try $0.packedBytes()) }
            #expect(bytes == (0..<10).map { [UInt8($0)] })
        }
        // Two buffers are retained, three times in all; the others are copied. The appsink has the last one.
        #expect(pool.available == 2)
        let again = try delegate.frames.all[9].withFrame { try $0.retain() }
        #expect(try again.packedBytes() == delegate.frames.all[9].packedBytes())
    }

    @Test("RP-7 with memory-mode=stack, which is the default, retaining fails at the pool's limit")
    func stack() throws {
        for properties in [[], [("memory-mode", "stack")]] {
            let pool = BoundedPool(Self.caps, size: Self.size, buffers: 5)
            let pipe = try pipe(properties)
            let delegate = Keeper()
            try NodeVTable.subscribe(delegate, PipeIdentity(name: "p"), .native, to: pipe)
            try push(pool, into: pipe)
            let expected = (0..<10).map { $0 < 3 ? "true kept" : "false allocationFailed" }
            #expect(delegate.outcomes.all == expected)
        }
    }

    @Test("RP-7 a frame that shares a pool's memory is copied whole at the limit, and frees the pool's buffer")
    func aliases() throws {
        let pool = BoundedPool(Self.caps, size: Self.size, buffers: 5)
        let pipe = try pipe([("memory-mode", "heap")])
        let keeper = Keeper()
        try NodeVTable.attach(keeper, to: pipe)
        // As a session does, to mark a mirrored frame.
        try push(pool, into: pipe, asAliases: true)
        #expect(keeper.frames.all.count == 10)
        // Three are retained. The appsink has the last one.
        #expect(pool.available == 1)
    }

    @Test("RP-7 native and encoded frames may be retained without limit too, except in special memory")
    func otherTypes() throws {
        let types = [
            ("native", Self.caps, 10), ("native", "video/x-raw(memory:DMABuf),format=I420,width=16,height=16", 3),
            ("encoded", "image/jpeg", 10),
        ]
        for (type, caps, count) in types {
            let pool = BoundedPool(caps, size: Self.size, buffers: 5)
            let pipe = try pipe([("memory-mode", "heap"), ("buffer-type", type)])
            let keeper = Keeper()
            try NodeVTable.attach(keeper, to: pipe)
            try push(pool, into: pipe, caps)
            let expected = (0..<10).map { $0 < count ? "true kept" : "false allocationFailed" }
            #expect(keeper.outcomes.all == expected, "\(type) \(caps)")
            #expect(keeper.natives.all.count + keeper.units.all.count == count)
        }
    }

    @Test("RP-7 memory-mode=stack refuses a sequence of frames, which owns them, and one attached before")
    func sequences() throws {
        let graph = try Graph(
            """
            videotestsrc ! tee name=t ! queue ! rawdatapipe name=stack memory-mode=stack
            t. ! queue ! rawdatapipe name=unset  t. ! queue ! rawdatapipe name=heap memory-mode=heap
            """)
        let error = #expect(throws: MediaGraphError.self) { try graph.rawDataPipe("stack").frames }
        #expect("\(error!)" == "stack's memory-mode: expected heap, for a sequence of frames, got stack")
        for name in ["unset", "heap"] { _ = try graph.rawDataPipe(name).frames }
        for isHandler in [true, false] {
            let pipe = try #require(Element(factory: "rawdatapipe"))
            let channel = FrameChannel<OwnedVideoFrame>()
            if isHandler {
                try NodeVTable.attach(MGVideoConsumer(channel), to: pipe)
            } else {
                try NodeVTable.subscribe(channel, .native, to: pipe)
            }
            try pipe.setProperty("memory-mode", parsing: "stack")
            #expect(pipe.setState(.paused) == .failure, "\(isHandler)")
            pipe.setState(.null)
            try pipe.setProperty("memory-mode", parsing: "heap")
            #expect(pipe.setState(.paused) != .failure)
            pipe.setState(.null)
        }
    }

    // MARK: SP-4

    private static let audio = "audio/x-raw,format=S16LE,rate=48000,channels=1,layout=interleaved"

    @Test("SP-4 with memory-mode=heap a speaker's handler may retain every block, otherwise as the pool allows")
    func blocks() async throws {
        for mode in ["", "memory-mode=stack", "memory-mode=heap"] {
            let graph = try Graph(
                "virtualspeaker name=s \(mode)  appsrc name=in format=time caps=\"\(Self.audio)\" ! s.user_anna")
            let kept = Log<OwnedAudioFrame?>()
            try graph.virtualSpeaker("s").receive { frame, stream in
                guard stream.user != nil else { return }
                let canRetain = frame.canRetain
                let owned = try? frame.retain()
                #expect((owned != nil) == canRetain)
                kept.add(owned)
            }
            let source = try #require(AppSource(wrapping: try graph.element("in")))
            let pool = PoolAtLimit(Self.audio, size: 960)
            try await graph.start()
            for number in 0..<20 { pool.push(to: source, at: .milliseconds(UInt64(number) * 10)) }
            #expect(waitUntil { kept.all.count >= 10 })
            await graph.stop()
            let isHeap = mode.hasSuffix("heap")
            #expect(kept.all.allSatisfy { ($0 != nil) == isHeap }, "\(mode)")
            for block in kept.all { if let block { #expect(try Set(block.samples()) == [0x0707]) } }
        }
    }

    @Test("SP-4 memory-mode=stack refuses a sequence of blocks, which owns them, and one attached before")
    func audioSequence() async throws {
        let graph = try Graph("audiotestsrc num-buffers=1 ! virtualspeaker name=s memory-mode=stack")
        let node = try graph.virtualSpeaker("s")
        let error = #expect(throws: MediaGraphError.self) { try node.audio }
        #expect("\(error!)" == "s's memory-mode: expected heap, for a sequence of blocks, got stack")
        try node.set("memory-mode", parsing: "heap")
        _ = try node.audio
        try node.set("memory-mode", parsing: "stack")
        await #expect(throws: GraphError.self) { try await graph.run() }
    }
}
