import Foundation
import GStreamer
import MediaGraph
import PlainC
import Synchronization

/// Users in a room, in graphs of one process: those who send at 30 frames/s, and pipes that read them.
///
/// A frame's time is that of its sending: a thread that comes too late to its turn, as where the cores are full, leaves turns
/// out, like a camera does, and sends nothing old.
struct RoomWork: Sendable {
    /// How many send. One: the others only read. More: everybody reads everybody else.
    var senders: Int
    /// Pipes of those who only read.
    var readers: Int
    var width: Int
    var height: Int
    /// What the pipes ask for.
    var resolution: Resolution
    var seconds: Double
    /// What the pipes make of it; each for itself where it isn't the stream's own.
    var format = "I420"
    /// Of another live branch in the readers' graphs, milliseconds: every sink of such a graph waits as long.
    var latency: UInt64 = 0

    struct Outcome: Sendable {
        /// Running time at delivery minus the frame's, nanoseconds, each pipe's in order.
        var latenessOfPipes: [[Int64]]
        var dropped: UInt64
        /// Of the whole process, nanoseconds.
        var processorTime: UInt64
        /// Of all the machine's cores, 0 to 1: others' work counts, which delays this one's.
        var load: Double
        /// Resident memory, MiB, at the beginning and the end.
        var memory: (before: Double, after: Double)

        var lateness: [Int64] { latenessOfPipes.flatMap { $0 } }
        var firstHalf: [Int64] { latenessOfPipes.flatMap { $0.prefix($0.count / 2) } }
        var secondHalf: [Int64] { latenessOfPipes.flatMap { $0.suffix($0.count / 2) } }
    }

    /// Called on the main thread, which is none of the pool's.
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
            NativeThread("camera") { source.sendLive { isOver.load(ordering: .relaxed) } }
        }
        // What starting up costs is over by then, and the first frames have waited for the latency.
        usleep(1_000_000 + UInt32(latency) * 2000)
        let droppedBefore = try dropped(pipes, graphs)
        let (before, began, jiffies) = (Self.memory, Self.processorTime, Self.machineTime)
        for (pipe, note) in zip(pipes, notes) {
            guard let base = try pipe.graph.element("call").baseTime else { throw BenchError("no base time") }
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

    /// What all cores did, in the kernel's ticks.
    private static var machineTime: (busy: UInt64, all: UInt64) {
        let line = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8))?.split(separator: "\n").first ?? ""
        let ticks = line.split(separator: " ").dropFirst().prefix(8).compactMap { UInt64($0) }
        let all = ticks.reduce(0, +)
        // The fourth is idle, the fifth waits for disks.
        return (all - (ticks.count > 4 ? ticks[3] + ticks[4] : 0), all)
    }

    private static var memory: Double {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return (pages.flatMap { $0.count > 1 ? Double($0[1]) : nil } ?? 0) * Double(getpagesize()) / 1_048_576
    }
}
