import Foundation
import GStreamer
import MediaGraph
import PlainC

/// Users in a room, in graphs of one process: those who send at 30 frames/s, and pipes that read them.
struct RoomWork: Sendable {
    /// How many send. One: the others only read. More: everybody reads everybody else.
    var senders: Int
    /// Pipes of those who only read.
    var readers: Int
    /// As caps write it.
    var size: String
    /// What the pipes ask for.
    var resolution: Resolution
    var seconds: Double

    struct Outcome: Sendable {
        /// Running time at delivery minus the frame's, nanoseconds.
        var lateness: [Int64]
        var dropped: UInt64
        /// Of the whole process, nanoseconds.
        var processorTime: UInt64
        /// Resident memory, MiB, at the beginning and the end.
        var memory: (before: Double, after: Double)
    }

    /// Called on the main thread, which is none of the pool's.
    func run() throws -> Outcome {
        let room = "bench-\(UUID().uuidString)"
        let names = (0..<senders).map { "s\($0)" }
        var pipes: [(graph: Graph, name: String)] = []
        var graphs: [Graph] = []
        for name in names {
            let others = names.filter { $0 != name }
            let source = "videotestsrc is-live=true pattern=black ! \(size),format=I420,framerate=30/1 ! call.camera"
            graphs.append(try graph(room, name, others, source))
            pipes += others.map { (graphs.last!, $0) }
        }
        for index in 0..<readers {
            graphs.append(try graph(room, "r\(index)", ["s0"], ""))
            pipes.append((graphs.last!, "s0"))
        }
        let notes = pipes.map { _ in Lateness(room: Int(seconds * 40) + 100) }
        for (pipe, note) in zip(pipes, notes) {
            try pipe.graph.rawDataPipe(pipe.name).receive {
                pc_lateness_note(note.pointer, $0.runningTime?.nanoseconds ?? 0)
            }
        }
        for graph in graphs { try waiting { try await graph.start() } }
        // What starting up costs is over by then.
        usleep(1_000_000)
        let droppedBefore = try dropped(pipes, graphs)
        let (before, began) = (Self.memory, Self.processorTime)
        for (pipe, note) in zip(pipes, notes) {
            guard let base = try pipe.graph.element("call").baseTime else { throw BenchError("no base time") }
            pc_lateness_record(note.pointer, base.nanoseconds)
        }
        usleep(UInt32(seconds * 1e6))
        for note in notes { pc_lateness_record(note.pointer, 0) }
        let (time, after) = (Self.processorTime - began, Self.memory)
        let lost = try dropped(pipes, graphs) - droppedBefore
        for graph in graphs { try waiting { await graph.stop() } }
        return Outcome(
            lateness: notes.flatMap {
                Array(UnsafeBufferPointer(start: $0.pointer.pointee.values, count: Int(pc_lateness_count($0.pointer))))
            },
            dropped: lost, processorTime: time, memory: (before, after))
    }

    private func graph(_ room: String, _ user: String, _ others: [String], _ source: String) throws -> Graph {
        let pipes = others.map { "call.video_\($0) ! rawdatapipe name=\($0) resolution=\(resolution.nick)" }
        return try Graph(
            "mediasession name=call room=\(room) user=\(user)  \(source)  \(pipes.joined(separator: "  "))")
    }

    /// At the sessions' edges and in the pipes.
    private func dropped(_ pipes: [(graph: Graph, name: String)], _ graphs: [Graph]) throws -> UInt64 {
        let inPipes = try pipes.reduce(0) { try $0 + $1.graph.rawDataPipe($1.name).statistics.dropped }
        return try graphs.reduce(inPipes) { sum, graph in
            let statistics = try graph.element("call").property("stats", as: Structure.self)
            return sum + (statistics["dropped"] ?? UInt64(0))
        }
    }

    private static var processorTime: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    private static var memory: Double {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return (pages.flatMap { $0.count > 1 ? Double($0[1]) : nil } ?? 0) * Double(getpagesize()) / 1_048_576
    }
}
