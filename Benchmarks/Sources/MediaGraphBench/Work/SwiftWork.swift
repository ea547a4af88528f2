import GStreamer
import MediaGraph
import PlainC
import Synchronization

extension Work {
    /// Runs the work as a user of MediaGraph would write it.
    func runSwift(_ probe: Probe) async throws {
        let source = Self.source(frames: frames)
        switch kind {
        case .appsink:
            let graph = try Graph("\(source) ! rawdatapipe name=pipe sync=false")
            switch touch {
            case .planes: try graph.rawDataPipe("pipe").attach(PlaneReader(probe: probe))
            case .luma: try graph.rawDataPipe("pipe").attach(LumaReader(probe: probe))
            }
            try await graph.run()
        case .appsrc:
            let memory = WrappedMemory()
            let graph = try Graph("videosource name=source pace=fast ! fakesink")
            try graph.videoSource("source").attach(MemorySource(probe: probe, memory: memory))
            try await graph.run()
            let released = memory.released.load(ordering: .relaxed)
            guard released == frames + memory.refused.load(ordering: .relaxed) else {
                throw BenchError("\(released) of \(frames) frames were released")
            }
        case .transform:
            let graph = try Graph("\(source) ! preprocessor name=transform ! fakesink")
            switch touch {
            case .planes: try graph.preprocessor("transform").attach(PlaneInverter(probe: probe))
            case .luma: try graph.preprocessor("transform").attach(LumaInverter(probe: probe))
            }
            try await graph.run()
        case .passthrough: try await passThrough("preprocessor", source, probe)
        case .observer: try await passThrough("frameobserver", source, probe)
        case .observing: try await passThrough("frameobserver handler=count", source, probe)
        case .convert:
            let graph = try Graph("\(source) ! rawdatapipe name=pipe sync=false format=BGRA resolution=360p")
            try graph.rawDataPipe("pipe").attach(PackedReader(probe: probe))
            try await graph.run()
        case .mirror:
            let graph = try Graph("\(source) ! rawdatapipe name=pipe sync=false apply-mirror=true")
            try graph.rawDataPipe("pipe").attach(PlaneReader(probe: probe))
            try await graph.run()
        }
    }

    private func passThrough(_ node: String, _ source: String, _ probe: Probe) async throws {
        let graph = try Graph("\(source) ! \(node) name=node ! fakesink")
        try await graph.start()
        _ = try await graph.waitUntilEnd()
        // Uses the node's own count, because counting is part of the measured work.
        guard let counts = NodeCounts(try graph.element("node")) else { throw BenchError("\(node) has no counters") }
        probe.pointer.pointee.frames = counts.frames
        await graph.stop()
    }
}

extension VideoFrame {
    /// The sum of the metadata that the C side reads too.
    fileprivate var metadataSum: UInt64 {
        (runningTime?.nanoseconds ?? 0) &+ (captureTime?.timeIntervalSinceReferenceDate.bitPattern ?? 0)
            &+ UInt64(rotation.rawValue)
    }
}

private struct PlaneReader: VideoConsumer {
    let probe: Probe

    func receive(_ frame: borrowing VideoFrame) throws {
        let y = try frame.plane(.y).bytes[0]
        let u = try frame.plane(.u).bytes[0]
        let v = try frame.plane(.v).bytes[0]
        pc_probe_note(probe.pointer, frame.metadataSum &+ UInt64(y) &+ UInt64(u) &+ UInt64(v))
    }
}

private struct PackedReader: VideoConsumer {
    let probe: Probe

    func receive(_ frame: borrowing VideoFrame) throws {
        pc_probe_note(probe.pointer, frame.metadataSum &+ UInt64(try frame.plane(.packed).bytes[0]))
    }
}

private struct LumaReader: VideoConsumer {
    let probe: Probe

    func receive(_ frame: borrowing VideoFrame) throws {
        let luma = try frame.plane(.y)
        var sum: UInt64 = 0
        for index in 0..<luma.height {
            let row = luma.row(index)
            for x in row.indices { sum &+= UInt64(row[x]) }
        }
        pc_probe_note(probe.pointer, frame.metadataSum &+ sum)
    }
}

private struct PlaneInverter: VideoProcessor {
    let probe: Probe

    func process(_ frame: inout VideoFrame) throws -> Verdict {
        try Self.invertFirst(.y, of: &frame)
        try Self.invertFirst(.u, of: &frame)
        try Self.invertFirst(.v, of: &frame)
        pc_probe_note(probe.pointer, frame.metadataSum)
        return .pass
    }

    private static func invertFirst(_ plane: VideoFormat.Plane, of frame: inout VideoFrame) throws {
        var plane = try frame.mutablePlane(plane)
        plane.bytes[0] = 255 - plane.bytes[0]
    }
}

private struct LumaInverter: VideoProcessor {
    let probe: Probe

    func process(_ frame: inout VideoFrame) throws -> Verdict {
        var luma = try frame.mutablePlane(.y)
        for index in 0..<luma.height {
            var row = luma.row(index)
            for x in row.indices { row[x] = 255 - row[x] }
        }
        pc_probe_note(probe.pointer, frame.metadataSum)
        return .pass
    }
}

/// The memory of one frame, which is passed to GStreamer again and again.
///
/// `@unchecked Sendable`: the bytes are never written.
private final class WrappedMemory: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
    let released = Atomic<Int>(0)
    let refused = Atomic<Int>(0)

    init() {
        bytes = .allocate(byteCount: Work.frameSize, alignment: 64)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { bytes.deallocate() }
}

/// Sends from its own thread as fast as the queue of two frames allows.
private final class MemorySource: VideoSource {
    private let probe: Probe
    private let memory: WrappedMemory
    private let run = Mutex<(sender: VideoSender?, thread: WorkThread?)>((nil, nil))

    init(probe: Probe, memory: WrappedMemory) {
        self.probe = probe
        self.memory = memory
    }

    func initialize(sender: VideoSender, supported: [VideoCapability], suggested: VideoCapability?) {
        run.withLock { $0.sender = sender }
    }

    func startSend() {
        run.withLock { run in
            guard let sender = run.sender else { return }
            run.thread = WorkThread("sender") { [probe, memory] in Self.sendAll(sender, probe, memory) }
        }
    }

    func stopSend() { run.withLock { $0.thread.take() }?.join() }
    func uninitialize() { run.withLock { $0.sender = nil } }

    private static func sendAll(_ sender: VideoSender, _ probe: Probe, _ memory: WrappedMemory) {
        let context = Unmanaged.passUnretained(memory).toOpaque()
        var frame = FrameDescription(
            width: 1280, height: 720, format: .i420Limited, framesPerSecond: Fraction(30, 1))
        var index: UInt64 = 0
        while index < probe.pointer.pointee.expected {
            frame.timestamp = ClockTime(nanoseconds: index * 1_000_000_000 / 30)
            do throws(MediaGraphError) {
                try sender.send(
                    owning: memory.bytes, frame,
                    release: {
                        let memory = Unmanaged<WrappedMemory>.fromOpaque($0!)
                        _ = memory._withUnsafeGuaranteedRef { $0.released.wrappingAdd(1, ordering: .relaxed) }
                    }, context: context)
                pc_probe_note(probe.pointer, index)
                index += 1
            } catch {
                // Tries again: under valgrind, the time-out of a tenth of a second passes quickly.
                memory.refused.wrappingAdd(1, ordering: .relaxed)
                guard case .timeOut = error else { return sender.fail(error) }
            }
        }
        sender.endOfStream()
    }
}
