import CMediaGraphABI
import GStreamer
import MediaGraphTesting
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests what a frame's release callback may do. It runs on the thread of the last holder, and never under a lock of
/// the library.
@Suite struct FrameReleaseTests {
    init() throws { try Nodes.register() }

    private static let caps = "video/x-raw,format=I420,width=16,height=16,framerate=30/1"
    private static let length = 16 * 16 * 3 / 2

    private final class Release {
        let body: () -> Void
        init(_ body: @escaping () -> Void) { self.body = body }
    }

    /// Returns a frame whose release calls `body`.
    private static func frame(_ body: @escaping @Sendable () -> Void) -> Buffer {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 16)
        let release = Release {
            memory.deallocate()
            body()
        }
        return Buffer(wrapping: memory, context: Unmanaged.passRetained(release).toOpaque()) {
            Unmanaged<Release>.fromOpaque($0!).takeRetainedValue().body()
        }
    }

    private func pipe(_ prepare: (Element) throws -> Void) throws -> (harness: Harness, pipe: Element) {
        let pipe = try #require(Element(factory: "rawdatapipe", name: "p"))
        try pipe.setProperty("backpressure", parsing: "drop-old")
        try pipe.setProperty("max-frames", to: Int32(2))
        try prepare(pipe)
        let harness = Harness(pipe, sink: "sink", source: nil)
        harness.setLive(false)
        harness.setSourceCaps(Self.caps)
        return (harness, pipe)
    }

    @Test(
        "RP-9 the release of a frame that a reader never takes may query the reader's queue", .timeLimit(.minutes(10))
    )
    func sequence() throws {
        let channel = FrameChannel<OwnedVideoFrame>()
        let (harness, _) = try pipe { try NodeVTable.attach(MGVideoConsumer(channel), to: $0) }
        let counts = Log<Int>()
        for _ in 0..<5 { harness.push(Self.frame { counts.add(channel.count) }) }
        // The appsink keeps the last frame until the next one arrives.
        harness.push(Self.frame {})
        #expect(waitUntil { counts.all == [2, 2, 2, 2] })
        channel.abandon()
        #expect(counts.all == [2, 2, 2, 2, 0])
    }

    @Test(
        "RP-9 the release of a frame that a flush removes from the queue may unsubscribe a delegate",
        .timeLimit(.minutes(10)))
    func subscription() throws {
        final class Delegate: RawDataDelegate {
            let isHeld = BlockingMonitor(true)
            let count = Atomic<Int>(0)
            func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) {
                count.add(1, ordering: .relaxed)
                _ = isHeld.wait { $0 ? nil : true }
            }
        }
        let (delegate, other) = (Delegate(), Delegate())
        let (harness, pipe) = try pipe { pipe in
            for delegate in [delegate, other] {
                try NodeVTable.subscribe(delegate, PipeIdentity(name: "p"), .native, to: pipe)
            }
        }
        let released = Log<Bool>()
        harness.push(Self.frame {})
        #expect(waitUntil { [delegate, other].allSatisfy { $0.count.load(ordering: .relaxed) == 1 } })
        other.isHeld.withLock { $0 = false }
        // The queue of the held delegate has the last reference to this frame.
        harness.push(
            Self.frame { released.add((try? NodeVTable.unsubscribe(other, from: pipe)) != nil) })
        // The appsink also has a reference to this frame.
        harness.push(Self.frame {})
        #expect(waitUntil { other.count.load(ordering: .relaxed) == 3 })
        harness.push(.flushStart)
        harness.push(.flushStop)
        #expect(waitUntil { released.all == [true] })
        delegate.isHeld.withLock { $0 = false }
    }
}
