import Foundation
import GStreamer
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore

/// Tests a session whose camera is a network stream that lags and catches up.
@Suite(.timeLimit(.minutes(10))) struct LaggingStreamTests {
    init() throws { try Nodes.register() }

    private static let frameCount = 60

    /// Encoded frames in a container. Frame `n` is gray, with a luma of about `3n`.
    private struct Recording {
        var bytes = Data()
        /// The number of bytes up to the end of each frame.
        var ends: [Int] = []
    }

    private func record() async throws -> Recording {
        let graph = try Graph(
            "videosource name=s pace=fast ! jpegenc name=e ! matroskamux name=m streamable=true ! fakesink")
        let source = RecordingSource(onStart: { sender in
            for number in 0..<Self.frameCount {
                let luma = [UInt8](repeating: UInt8(3 * number), count: 64 * 48)
                try sendNow(
                    sender, luma + [UInt8](repeating: 128, count: 64 * 48 / 2),
                    FrameDescription(
                        width: 64, height: 48, framesPerSecond: Fraction(30, 1),
                        timestamp: .frame(number, at: Fraction(30, 1))))
            }
            sender.endOfStream()
        })
        try graph.videoSource("s").attach(source)
        let (sizes, parts) = (Log<Int>(), Log<Data>())
        try graph.element("e").staticPad("src")?.observeBuffers { sizes.add($0.size) }
        try graph.element("m").staticPad("src")?.observeBuffers { parts.add(Data($0.bytes)) }
        try await graph.run()
        var recording = Recording()
        for part in parts.all {
            recording.bytes += part
            // The muxer passes each frame on as it is, after a header of its own.
            if recording.ends.count < sizes.all.count, part.count == sizes.all[recording.ends.count] {
                recording.ends.append(recording.bytes.count)
            }
        }
        try #require(recording.ends.count == Self.frameCount)
        return recording
    }

    @Test("CR-6 a lagging stream brings no frames, and catching up brings the rest in order, each counted")
    func lagging() async throws {
        let recording = try await record()
        let network = Pipe()
        let room = #function
        let bob = try session("bob", room) {
            $0.camera =
                "fdsrc fd=\(network.fileHandleForReading.fileDescriptor) ! matroskademux ! jpegdec ! "
                + "video/x-raw,format=I420"
        }
        let alice = try session("alice", room)
        let numbers = Log<Int>()
        let frames = PipeLog { numbers.add(Int((Double(try $0.plane(.y).row(0)[0]) / 3).rounded())) }
        for session in [alice, bob] { try await session.join() }
        #expect(try await eventually { alice.remoteUsers.count == 1 })
        let pipe = try alice.user("bob").videoPipe
        try pipe.subscribe(frames, resolution: .native)
        await alice.settle()
        let node = try alice.graph.element("session")
        /// The frames that arrived, and those that were lost because the reader was too slow for them.
        func count() -> UInt64 {
            UInt64(numbers.all.count) + (NodeCounts(node)?.dropped ?? 0) + pipe.statistics.dropped
        }
        let (first, burst) = (20, Self.frameCount - 20)
        try network.fileHandleForWriting.write(contentsOf: recording.bytes.prefix(recording.ends[first - 1]))
        #expect(try await eventually { count() == first && numbers.all.last == first - 1 }, "\(numbers.all)")
        // Until half of the other frames are late.
        let late = ClockTime.frame(first + burst / 2, at: Fraction(30, 1))
        let his = try bob.graph.element("session")
        let (clock, start) = (try #require(his.clock), try #require(his.baseTime))
        #expect(try await eventually { clock.time.nanoseconds > start.nanoseconds + late.nanoseconds })
        #expect(count() == first)
        try network.fileHandleForWriting.write(contentsOf: recording.bytes.dropFirst(recording.ends[first - 1]))
        #expect(
            try await eventually { count() == first + burst && numbers.all.last == Self.frameCount - 1 },
            "\(count()) \(numbers.all)")
        let all = numbers.all
        #expect(zip(all, all.dropFirst()).allSatisfy { $0 < $1 })
        for session in [alice, bob] { await session.leave() }
    }
}
