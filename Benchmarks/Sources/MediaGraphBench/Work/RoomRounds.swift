import Dispatch
import Foundation
import GStreamer
import MediaGraph
import Synchronization

/// A room that works in rounds: each sender sends a frame, and the next round begins when every pipe has received all
/// frames of this round. Nothing depends on time and no frame is dropped, so callgrind can count the cost of a
/// delivered frame.
struct RoomRounds: Sendable {
    /// The number of senders. If there are several, each reads all others.
    var senders: Int
    /// The number of users who only read. Each reads the first sender.
    var readers: Int
    var width: Int
    var height: Int
    /// The resolution that the pipes request.
    var resolution: Resolution
    var rounds: Int

    var deliveriesPerRound: Int { senders * (senders - 1) + readers }

    /// Runs the rounds. Called on the main thread, which isn't a thread of Swift's pool.
    func run() throws {
        let room = "bench-\(UUID().uuidString)"
        let names = (0..<senders).map { "s\($0)" }
        let deliveries = Deliveries()
        let sources = names.map { _ in RoundSource(width: width, height: height) }
        var graphs: [Graph] = []
        for (name, source) in zip(names, sources) {
            let others = names.filter { $0 != name }
            let graph = try graph(room, name, reading: others, "videosource name=camera ! call.camera", deliveries)
            try graph.videoSource("camera").attach(source)
            graphs.append(graph)
        }
        for index in 0..<readers {
            graphs.append(try graph(room, "r\(index)", reading: ["s0"], "", deliveries))
        }
        for graph in graphs { try waiting { try await graph.start() } }
        // Each stream begins with its first frame, which some readers may miss. Repeats the first round until all have
        // a frame. The timeouts are long because a round of a hundred readers takes long under callgrind, and a frame
        // that arrives in a later round would be counted twice.
        while !deliveries.wait(for: deliveriesPerRound, timeout: .seconds(5), sending: sources) {}
        for _ in 0..<rounds {
            guard deliveries.wait(for: deliveriesPerRound, timeout: .seconds(120), sending: sources) else {
                throw BenchError("not all frames of a round arrived within 120 s")
            }
        }
        for graph in graphs { try waiting { await graph.stop() } }
    }

    private func graph(
        _ room: String, _ user: String, reading others: [String], _ source: String, _ deliveries: Deliveries
    ) throws -> Graph {
        let pipes = others.map {
            "call.video_\($0) ! rawdatapipe name=\($0) resolution=\(resolution.text) sync=false"
        }
        let graph = try Graph(
            "mediasession name=call room=\(room) user=\(user)  \(source)  \(pipes.joined(separator: "  "))")
        for other in others {
            try graph.rawDataPipe(other).receive { _ in deliveries.note() }
        }
        return graph
    }
}

/// Counts the frames of a round.
private final class Deliveries: Sendable {
    private let missing = Atomic<Int>(0)
    private let complete = DispatchSemaphore(value: 0)

    func note() {
        if missing.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { complete.signal() }
    }

    /// Runs one round. Returns false if not all frames arrived in time.
    func wait(for count: Int, timeout: DispatchTimeInterval, sending sources: [RoundSource]) -> Bool {
        missing.store(count, ordering: .releasing)
        for source in sources { source.send() }
        return complete.wait(timeout: .now() + timeout) == .success
    }
}

/// A source that sends when the benchmark calls it.
final class RoundSource: VideoSource {
    private let sender = Mutex<VideoSender?>(nil)
    private let bytes: [UInt8]
    private let frame: FrameDescription

    init(width: Int, height: Int) {
        bytes = [UInt8](repeating: 16, count: width * height * 3 / 2)
        frame = FrameDescription(width: width, height: height, format: .i420Limited)
    }

    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) {
        self.sender.withLock { $0 = sender }
    }

    func startSend() {}
    func stopSend() {}
    func uninitialize() { sender.withLock { $0 = nil } }

    func send() { try? sender.withLock { $0 }?.send(bytes, frame) }

    /// Sends 30 frames/s until `isOver` returns true, and skips frames that would be late.
    func sendLive(until isOver: () -> Bool) {
        let interval: UInt64 = 1_000_000_000 / 30
        while !isOver() {
            let now = DispatchTime.now().uptimeNanoseconds
            usleep(UInt32((interval - now % interval) / 1000))
            send()
        }
    }
}
