import Foundation
import GStreamer
import MediaGraph
import PlainC

/// Live graphs at 30 frames/s, with heartbeat tasks in the background.
struct LiveWork: Sendable {
    enum Receiver: String, Sendable {
        /// No graph.
        case none
        /// appsink's callback in C.
        case c
        /// A pipe whose closure borrows each frame.
        case borrowed
        /// A pipe's `frames`, read by one task for each graph.
        case sequence
        /// The same, but no frames arrive.
        case idleSequence
    }

    var receiver: Receiver
    var graphs: Int
    var framesPerGraph: Int

    struct Outcome: Sendable {
        /// Running time at delivery minus the frame's running time, in nanoseconds.
        var lateness: [Int64] = []
        /// How late the heartbeat tasks woke, in nanoseconds.
        var heartbeats: [Int64] = []
    }

    /// Runs the graphs. Called on the main thread, which isn't a thread of Swift's pool.
    func run() throws -> Outcome {
        let notes = (0..<max(1, graphs)).map { _ in Lateness(room: framesPerGraph) }
        let heartbeats = Heartbeats()
        let running: [any LiveGraph] =
            switch receiver {
            case .none: []
            case .c: try notes.prefix(graphs).map { try PlainGraph($0) }
            case .borrowed, .sequence, .idleSequence: try notes.prefix(graphs).map { try SwiftGraph(receiver, $0) }
            }
        // Waits until the graphs have started up.
        usleep(300_000)
        heartbeats.record(true)
        for (graph, note) in zip(running, notes) { pc_lateness_record(note.pointer, try graph.baseTime) }
        let length = Double(framesPerGraph) / 30
        if receiver == .none || receiver == .idleSequence {
            usleep(UInt32(length * 1e6))
        } else {
            let limit = ContinuousClock.now + .seconds(length * 2 + 10)
            while notes.contains(where: { pc_lateness_count($0.pointer) < framesPerGraph }) {
                guard ContinuousClock.now < limit else { throw BenchError("frames stopped arriving (\(receiver))") }
                usleep(20_000)
            }
        }
        heartbeats.record(false)
        for graph in running { try graph.stop() }
        return Outcome(
            lateness: notes.flatMap {
                Array(UnsafeBufferPointer(start: $0.pointer.pointee.values, count: Int(pc_lateness_count($0.pointer))))
            },
            heartbeats: try heartbeats.stop())
    }
}

/// The latenesses of one graph's frames.
///
/// `@unchecked Sendable`: only the graph's delivering thread writes the values, and publishes them with an atomic
/// count.
final class Lateness: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<PCLateness>

    init(room: Int) {
        pointer = .allocate(capacity: 1)
        pointer.initialize(to: PCLateness())
        pointer.pointee.values = .allocate(capacity: room)
        pointer.pointee.room = UInt64(room)
    }

    deinit {
        pointer.pointee.values.deallocate()
        pointer.deallocate()
    }
}

private protocol LiveGraph {
    /// The graph's base time in nanoseconds.
    var baseTime: UInt64 { get throws }
    func stop() throws
}

private struct PlainGraph: LiveGraph {
    private let live: OpaquePointer

    init(_ lateness: Lateness) throws {
        guard let live = pc_live_start(Work.liveSource, lateness.pointer) else { throw BenchError("the C side failed") }
        self.live = live
    }

    var baseTime: UInt64 { pc_live_base_time(live) }
    func stop() { pc_live_stop(live) }
}

private struct SwiftGraph: LiveGraph {
    private let graph: Graph
    private let reader: Task<Void, any Error>?

    init(_ receiver: LiveWork.Receiver, _ lateness: Lateness) throws {
        let source = receiver == .idleSequence ? Work.idleSource : Work.liveSource
        let graph = try Graph("\(source) ! rawdatapipe name=pipe")
        self.graph = graph
        let pipe = try graph.rawDataPipe("pipe")
        if receiver == .borrowed {
            try pipe.receive { frame in pc_lateness_note(lateness.pointer, frame.runningTime?.nanoseconds ?? 0) }
            reader = nil
        } else {
            let frames = try pipe.frames
            reader = Task.detached {
                for try await frame in frames {
                    pc_lateness_note(lateness.pointer, frame.runningTime?.nanoseconds ?? 0)
                }
            }
        }
        try waiting { try await graph.start() }
    }

    var baseTime: UInt64 {
        get throws {
            guard let time = try graph.element("pipe").baseTime else { throw BenchError("the graph has no base time") }
            return time.nanoseconds
        }
    }

    func stop() throws {
        try waiting { [graph] in await graph.stop() }
        _ = try? waiting { [reader] in try await reader?.value }
    }
}
