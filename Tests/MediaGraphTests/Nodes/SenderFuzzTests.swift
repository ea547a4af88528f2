import Foundation
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests senders that make random mistakes, from several threads and tasks, while the graph starts, stops and flushes.
///
/// Takes less than a second in the suite. `make soak` sets `MEDIAGRAPH_SOAK_SECONDS` for each of the settings, which
/// run at the same time. The seed is printed, and can be set with `MEDIAGRAPH_FUZZ_SEED`.
@Suite struct SenderFuzzTests {
    init() throws { try Nodes.register() }

    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = Soak.seconds ?? 0.4

    private struct Random: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
        mutating func pick<T>(_ values: [T]) -> T { values.randomElement(using: &self)! }
    }

    /// Counts what the senders did.
    private final class SendCounts: Sendable {
        let handedOver = Atomic<Int>(0)
        let released = Atomic<Int>(0)
        let accepted = Atomic<Int>(0)
        let refused = Atomic<Int>(0)
        let isOver = Atomic<Bool>(false)
    }

    private static func description(_ random: inout Random) -> FrameDescription {
        let sides = [-1, 0, 1, 2, 3, 15, 16, 17, 64, 99, 100_000]
        var frame = FrameDescription(
            width: random.pick(sides), height: random.pick(sides),
            format: FrameFormat(random.pick(VideoFormat.allCases), range: random.pick([.full, .limited])),
            rotation: random.pick(Rotation.allCases),
            framesPerSecond: random.pick([nil, Fraction(30, 1), Fraction(0, 1), Fraction(-1, 2), Fraction(30, 0)]),
            timestamp: random.pick([nil, .zero, .milliseconds(random.next() % 10000), ClockTime(nanoseconds: .max - 1)])
        )
        if Bool.random(using: &random) {
            frame.pixelAspectRatio = random.pick([Fraction(1, 1), Fraction(4, 3), Fraction(0, 1)])
        }
        return frame
    }

    private static func bytes(for frame: FrameDescription, _ random: inout Random) -> [UInt8] {
        let isSane = (1...128).contains(frame.width) && (1...128).contains(frame.height)
        let right = isSane ? frame.format.pixelFormat.packedLength(width: frame.width, height: frame.height) : 64
        return [UInt8](repeating: 1, count: max(0, right + random.pick([0, 0, 0, 0, 1, -1, 1000])))
    }

    private static func sendOnce(_ sender: VideoSender, _ counts: SendCounts, _ random: inout Random) {
        let frame = description(&random)
        let bytes = bytes(for: frame, &random)
        do {
            switch random.next() % 16 {
            case 0..<6: try sendNow(sender, bytes, frame)
            case 6..<10:
                let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 16)
                memory.copyBytes(from: bytes)
                let context = Unmanaged.passRetained(OwnedMemory(memory, counts)).toOpaque()
                counts.handedOver.add(1, ordering: .relaxed)
                try sender.send(
                    owning: UnsafeMutableRawBufferPointer(rebasing: memory[..<bytes.count]), frame,
                    release: { Unmanaged<OwnedMemory>.fromOpaque($0!).takeRetainedValue().free() }, context: context)
            case 10..<14:
                var made = try sender.makeFrame(frame)
                try made.withFrame { frame in
                    var plane = try frame.mutablePlane(frame.format.planes[0])
                    plane.fill(rows: 0..<1, with: 1)
                }
                if random.next() % 4 > 0 { try sender.send(made) }
            case 14: _ = sender.wait(until: .milliseconds(random.next() % 100))
            default:
                switch random.next() % 40 {
                case 0: sender.endOfStream()
                case 1: sender.fail(.internalError(.init("fuzz")))
                default: _ = (sender.runningTime, sender.pace)
                }
                return
            }
            counts.accepted.add(1, ordering: .relaxed)
        } catch {
            #expect(error is MediaGraphError)
            counts.refused.add(1, ordering: .relaxed)
        }
    }

    private final class OwnedMemory {
        let memory: UnsafeMutableRawBufferPointer
        let counts: SendCounts
        init(_ memory: UnsafeMutableRawBufferPointer, _ counts: SendCounts) {
            (self.memory, self.counts) = (memory, counts)
        }
        func free() {
            memory.deallocate()
            counts.released.add(1, ordering: .relaxed)
        }
    }

    @Test(
        "VS-5 random frames and calls from threads and tasks break nothing, and memory is released once",
        arguments: [
            "pace=fast block-timeout=2000000", "pace=live max-frames=1", "backpressure=drop-new rotation-tag=true",
        ])
    func fuzz(settings: String) async throws {
        let seed = Self.environment["MEDIAGRAPH_FUZZ_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        let counts = SendCounts()
        do {
            // Caps change with nearly each frame. The sinks don't preroll, because a flush from the application while a
            // sink loses its state is a deadlock inside GStreamer 1.22 (gst_bin_recalculate_latency against
            // gst_bin_continue_func).
            let pipeline = try Pipeline(
                parsing:
                    "videosource name=src \(settings) ! tee name=t ! queue ! rawdatapipe t. ! queue ! fakesink sync=false async=false"
            )
            let source = RecordingSource()
            let element = try #require(pipeline.element(named: "src"))
            try NodeVTable.attach(source, to: element)
            pipeline.onMessage { _ in }
            pipeline.setState(.ready)
            let sender = source.sender
            let threads = BlockingMonitor(0)
            for thread in 0..<3 {
                _ = NativeThread("fuzz") {
                    var random = Random(state: seed &+ UInt64(thread))
                    while !counts.isOver.load(ordering: .acquiring) { Self.sendOnce(sender, counts, &random) }
                    threads.withLock { $0 += 1 }
                }
            }
            let tasks = (3..<6).map { number in
                Task.detached {
                    var random = Random(state: seed &+ UInt64(number))
                    while !counts.isOver.load(ordering: .acquiring) {
                        let frame = Self.description(&random)
                        let bytes = Self.bytes(for: frame, &random)
                        let sending = Task { try await sender.send(bytes, frame) }
                        if random.next() % 8 == 0 { sending.cancel() }
                        _ = await sending.result
                        await Task.yield()
                    }
                }
            }
            // Changes the state on a thread that may block.
            _ = NativeThread("states") {
                var random = Random(state: seed &+ 99)
                let end = Date(timeIntervalSinceNow: Self.seconds)
                while Date() < end {
                    switch random.next() % 12 {
                    case 0: pipeline.setState(.null)
                    case 1: pipeline.setState(.ready)
                    case 2: pipeline.setState(.paused)
                    case 3: element.sendFlush()
                    case 4: _ = element.sendEndOfStream()
                    default: pipeline.setState(.playing)
                    }
                    // The next change comes at a random moment.
                    Thread.sleep(forTimeInterval: Double(random.next() % 20) / 1000)
                }
                pipeline.setState(.null)
                counts.isOver.store(true, ordering: .releasing)
                threads.withLock { $0 += 1 }
            }
            for task in tasks { await task.value }
            #expect(try await eventually { threads.withLock { $0 } == 4 })
            #expect(element.state == .null)
        }
        #expect(counts.accepted.load(ordering: .relaxed) > 0 && counts.refused.load(ordering: .relaxed) > 0)
        #expect(counts.released.load(ordering: .relaxed) == counts.handedOver.load(ordering: .relaxed))
    }
}
