import ArgumentParser
import PlainC

/// A case that both sides run: the same work in C and in MediaGraph.
enum WorkCase: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// Frames are passed to a callback.
    case appsink
    /// Frames are sent from the program's own memory.
    case appsrc
    /// Frames are edited in place.
    case transform
    /// Frames pass untouched: `preprocessor` without a handler, compared with `identity`. Frames are counted at the end
    /// only, so the case is measured in instructions and allocations only.
    case passthrough
    /// The same with `frameobserver` without an observer.
    case observer
    /// Frames pass and are read: `frameobserver` with an observer in the stream's own format, compared with a filter
    /// that maps each frame for reading and reads the same metadata.
    case observing
    /// Frames are converted to 640×360 BGRA and passed to a callback, compared with `videoconvertscale`.
    case convert
    /// Frames are mirrored and passed to a callback, compared with `videoflip`, which rotation uses too.
    case mirror

    /// The touches that the case can be run with.
    var touches: [Touch] {
        switch self {
        case .appsink, .transform: Touch.allCases
        case .appsrc, .passthrough, .observer, .observing, .convert, .mirror: [.planes]
        }
    }

    /// The allowed ratio of MediaGraph's instructions to those of C.
    var bar: Double {
        switch self {
        case .appsink, .appsrc, .transform, .observing: 1.10
        case .passthrough, .observer, .convert, .mirror: 1.05
        }
    }

    /// Whether frames are counted at the end only, so that no time is measured.
    var isUntimed: Bool { self == .passthrough || self == .observer || self == .observing }
    /// Whether a frame takes millions of instructions, so that a short run is enough.
    var isHeavy: Bool { self == .convert || self == .mirror }
}

enum Side: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// C with GStreamer alone.
    case c
    /// MediaGraph.
    case swift

    var title: String { self == .c ? "C" : "Swift" }
}

/// How much of each frame is read or edited.
enum Touch: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// The first byte of each plane: nearly all of the cost is the cost of getting the frame.
    case planes
    /// Every byte of luma.
    case luma
}

struct Work: Sendable {
    /// 1280×720 I420 at 30 frames/s. The source is a stock element that doesn't fill its buffers: it costs little, and
    /// the same on both sides.
    static let format = "video/x-raw, format=I420, width=1280, height=720, framerate=30/1"
    static let frameSize = 1280 * 720 * 3 / 2

    static func source(frames: Int) -> String {
        """
        fakesrc num-buffers=\(frames) sizetype=fixed sizemax=\(frameSize) filltype=nothing format=time \
        datarate=\(frameSize * 30) ! capsfilter caps="\(format)"
        """
    }

    /// The same source in real time.
    static var liveSource: String {
        """
        fakesrc is-live=true sync=true sizetype=fixed sizemax=\(frameSize) filltype=nothing format=time \
        datarate=\(frameSize * 30) ! capsfilter caps="\(format)"
        """
    }

    /// The same live source, with one frame in 100 s.
    static var idleSource: String {
        """
        fakesrc is-live=true sync=true sizetype=fixed sizemax=\(frameSize) filltype=nothing format=time \
        datarate=\(frameSize / 100) ! capsfilter caps="\(format)"
        """
    }

    var kind: WorkCase
    var touch = Touch.planes
    var frames: Int

    var title: String {
        switch (kind, touch) {
        case (.appsrc, _), (.passthrough, _), (.observer, _), (.observing, _), (.convert, _), (.mirror, _): "\(kind)"
        case (_, .planes): "\(kind), a byte a plane"
        case (_, .luma): "\(kind), all of luma"
        }
    }

    /// Runs one side to the end of the stream.
    func run(_ side: Side) async throws -> Measured {
        let probe = Probe(expecting: frames)
        switch side {
        case .c: try runC(probe.pointer)
        case .swift: try await runSwift(probe)
        }
        guard probe.pointer.pointee.frames == UInt64(frames) else {
            throw BenchError("expected \(frames) frames, got \(probe.pointer.pointee.frames)")
        }
        return Measured(
            frames: frames, wall: Double(probe.pointer.pointee.wall) * 1e-9,
            cpu: Double(probe.pointer.pointee.cpu) * 1e-9)
    }

    private func runC(_ probe: UnsafeMutablePointer<PCProbe>) throws {
        let source = Self.source(frames: frames)
        let failed =
            switch kind {
            case .appsink: pc_run_appsink(source, touch == .luma, probe)
            case .appsrc: pc_run_appsrc(probe)
            case .transform: pc_run_transform(source, touch == .luma, probe)
            case .passthrough, .observer: pc_run_passthrough(source, probe)
            case .observing: pc_run_observer(source, probe)
            case .convert:
                pc_run_appsink(
                    "\(source) ! videoconvertscale ! video/x-raw, format=BGRA, width=640, height=360", false, probe)
            case .mirror: pc_run_appsink("\(source) ! videoflip video-direction=horiz", false, probe)
            }
        guard failed == 0 else { throw BenchError("the C side failed") }
    }
}

/// The times of a finished run, from its first frame to its last.
struct Measured: Sendable {
    var frames: Int
    /// Elapsed time in seconds.
    var wall: Double
    /// Processor time in seconds.
    var cpu: Double

    /// The rate of frames; 0 if the case isn't timed.
    var framesPerSecond: Double { wall > 0 ? Double(frames - 1) / wall : 0 }
    var cpuPerFrame: Double { cpu / Double(frames - 1) }
}

struct BenchError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Counts the frames of a run, shared with C.
///
/// `@unchecked Sendable`: one thread writes during a run, and others read after the run has ended.
final class Probe: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<PCProbe>

    init(expecting frames: Int) {
        pointer = .allocate(capacity: 1)
        pointer.initialize(to: PCProbe())
        pointer.pointee.expected = UInt64(frames)
    }

    deinit { pointer.deallocate() }
}
