import Foundation
import GStreamer
import MediaGraph
import PlainC
import Synchronization

/// Users of a room, in graphs of one process: senders at 30 frames/s, and pipes that read them.
///
/// A frame's timestamp is the time at which it is sent. If a sender's thread is late, because the cores are full, the
/// sender skips frames, as a camera does, and sends no old frame.
struct RoomWork: Sendable {
    /// The number of senders. If there are several, each reads all others.
    var senders: Int
    /// The number of users who only read. Each reads the first sender.
    var readers: Int
    var width: Int
    var height: Int
    /// The resolution that the pipes request.
    var resolution: Resolution
    var seconds: Double
    /// The format of the pipes. If it differs from the stream's format, each pipe converts for itself.
    var format = "I420"
    /// The latency of another live branch in the readers' graphs, in milliseconds. Every sink of such a graph waits
    /// that long.
    var latency: UInt64 = 0

    struct Outcome: Sendable {
        /// Running time at delivery minus the frame's running time, in nanoseconds, in order for each pipe.
        var latenessOfPipes: [[Int64]]
        var dropped: UInt64
        /// The processor time of the whole process in nanoseconds.
        var processorTime: UInt64
        /// The load of all cores, from 0 to 1. It includes other processes, because their work delays this process.
        var load: Double
        /// Resident memory in MiB, at the beginning and at the end.
        var memory: (before: Double, after: Double)

        var lateness: [Int64] { latenessOfPipes.flatMap { $0 } }
        var firstHalf: [Int64] { latenessOfPipes.flatMap { $0.prefix($0.count / 2) } }
        var secondHalf: [Int64] { latenessOfPipes.flatMap { $0.suffix($0.count / 2) } }
    }

    /// Runs the room. Called on the main thread, which isn't a thread of Swift's pool.
    func run() throws -> Outcome {
        let room = "bench-\(UUID().uuidString)"
        let names = (0..<senders).map { "s\($0)" }
        var pipes: [(graph: Graph, name: String)] = []
        let sources = names.map { _ in RoundSource(width: width, height: height) }
        var graphs: [Graph] = []
        for (name, source) in zip(names, sources) {
            let others = names.filter { $0 != name }
            graphs.append(try graph(room, name, others, "videosource name=camera ! call.camera"))
            try graphs.last!.videoSource("camera").attach(source)
            pipes += others.map { (graphs.last!, $0) }
        }
        for index in 0..<readers {
            graphs.append(try graph(room, "r\(index)", ["s0"], slowBranch))
            pipes.append((graphs.last!, "s0"))
        }
        let notes = pipes.map { _ in Lateness(room: Int(seconds * 40) + 100) }
        for (pipe, note) in zip(pipes, notes) {
            try pipe.graph.rawDataPipe(pipe.name).receive {
                pc_lateness_note(note.pointer, $0.runningTime?.nanoseconds ?? 0)
            }
        }
        for graph in graphs { try waiting { try await graph.start() } }
        let isOver = Atomic<Bool>(false)
        let pumps = sources.map { source in
            WorkThread("camera") { source.sendLive { isOver.load(ordering: .relaxed) } }
        }
        // Waits until the graphs have started up and the first frames have waited for the latency.
        usleep(1_000_000 + UInt32(latency) * 2000)
        let droppedBefore = try dropped(pipes, graphs)
        let (before, began, jiffies) = (Self.memory, Self.processorTime, Self.machineTime)
        for (pipe, note) in zip(pipes, notes) {
            guard let base = try pipe.graph.element("call").baseTime else {
                throw BenchError("the graph has no base time")
            }
            pc_lateness_record(note.pointer, base.nanoseconds)
        }
        usleep(UInt32(seconds * 1e6))
        for note in notes { pc_lateness_record(note.pointer, 0) }
        let (time, after, end) = (Self.processorTime - began, Self.memory, Self.machineTime)
        let lost = try dropped(pipes, graphs) - droppedBefore
        isOver.store(true, ordering: .relaxed)
        for pump in pumps { pump.join() }
        for graph in graphs { try waiting { await graph.stop() } }
        return Outcome(
            latenessOfPipes: notes.map {
                Array(UnsafeBufferPointer(start: $0.pointer.pointee.values, count: Int(pc_lateness_count($0.pointer))))
            },
            dropped: lost, processorTime: time,
            load: Double(end.busy - jiffies.busy) / Double(max(1, end.all - jiffies.all)), memory: (before, after))
    }

    private func graph(_ room: String, _ user: String, _ others: [String], _ source: String) throws -> Graph {
        let pipes = others.map {
            "call.video_\($0) ! rawdatapipe name=\($0) resolution=\(resolution.text) format=\(format)"
        }
        return try Graph(
            "mediasession name=call room=\(room) user=\(user)  \(source)  \(pipes.joined(separator: "  "))")
    }

    private var slowBranch: String {
        guard latency > 0 else { return "" }
        let queue = "queue max-size-time=0 max-size-bytes=0 max-size-buffers=0 min-threshold-time=\(latency)000000"
        return "videotestsrc is-live=true ! video/x-raw,width=16,height=16 ! \(queue) ! fakesink sync=true"
    }

    /// Returns the number of frames that the sessions and the pipes have dropped.
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

    /// The time of all cores, in the kernel's ticks.
    private static var machineTime: (busy: UInt64, all: UInt64) {
        let line = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8))?.split(separator: "\n").first ?? ""
        let ticks = line.split(separator: " ").dropFirst().prefix(8).compactMap { UInt64($0) }
        let all = ticks.reduce(0, +)
        // The fourth field is idle time, the fifth is time waiting for disks.
        return (all - (ticks.count > 4 ? ticks[3] + ticks[4] : 0), all)
    }

    private static var memory: Double {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return (pages.flatMap { $0.count > 1 ? Double($0[1]) : nil } ?? 0) * Double(getpagesize()) / 1_048_576
    }
}
