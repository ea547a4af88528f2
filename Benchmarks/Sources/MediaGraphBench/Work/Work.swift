import ArgumentParser
import PlainC

/// What is compared: the same work by either side.
enum WorkCase: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// Frames to a callback.
    case appsink
    /// Frames from the program's own memory.
    case appsrc
    /// Frames edited in place.
    case transform
    /// Frames that go by untouched: `preprocessor` without a handler beside `identity`. Its frames are counted at
    /// the end, so it is measured in instructions and allocations only.
    case passthrough
    /// The same of `frameobserver` without an observer.
    case observer
    /// The same with one that looks at each frame, in the format that the stream has.
    case observing
    /// Frames to a callback, made 640×360 and BGRA on the way: beside `videoconvertscale`.
    case convert
    /// Frames to a callback, mirrored on the way: beside `videoflip`, which turning goes through too.
    case mirror

    /// What the case can be run with.
    var touches: [Touch] {
        switch self {
        case .appsink, .transform: Touch.allCases
        case .appsrc, .passthrough, .observer, .observing, .convert, .mirror: [.planes]
        }
    }

    /// How many times the instructions of C are allowed.
    var bar: Double {
        switch self {
        case .appsink, .appsrc, .transform: 1.10
        // Its frames are mapped, `identity`'s aren't: that alone is about 560 instructions of GStreamer's.
        case .observing: 1.10
        case .passthrough, .observer, .convert, .mirror: 1.05
        }
    }

    /// Its frames are counted at the end only.
    var isUntimed: Bool { self == .passthrough || self == .observer || self == .observing }
    /// Millions of instructions a frame need no long run.
    var isHeavy: Bool { self == .convert || self == .mirror }
}

enum Side: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// GStreamer from C, nothing else.
    case c
    /// MediaGraph.
    case swift

    var title: String { self == .c ? "C" : "Swift" }
}

/// How much of each frame is read or edited.
enum Touch: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// The first byte of each plane: what is left is the price of getting the frame.
    case planes
    /// Every byte of luma.
    case luma
}

struct Work: Sendable {
    /// 1280×720 I420 with timestamps of 30 frames/s from a stock element that fills in nothing: it costs little, and no
    /// side can be better at it.
    static let format = "video/x-raw, format=I420, width=1280, height=720, framerate=30/1"
    static let frameSize = 1280 * 720 * 3 / 2

    static func source(frames: Int) -> String {
        """
        fakesrc num-buffers=\(frames) sizetype=fixed sizemax=\(frameSize) filltype=nothing format=time \
        datarate=\(frameSize * 30) ! capsfilter caps="\(format)"
        """
    }

    /// The same at the clock's pace.
    static var liveSource: String {
        """
        fakesrc is-live=true sync=true sizetype=fixed sizemax=\(frameSize) filltype=nothing format=time \
        datarate=\(frameSize * 30) ! capsfilter caps="\(format)"
        """
    }

    /// The same, but one frame in 100 s.
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
            throw BenchError("\(probe.pointer.pointee.frames) frames came, not \(frames)")
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
            case .passthrough, .observer, .observing: pc_run_passthrough(source, probe)
            case .convert:
                pc_run_appsink(
                    "\(source) ! videoconvertscale ! video/x-raw, format=BGRA, width=640, height=360", false, probe)
            case .mirror: pc_run_appsink("\(source) ! videoflip video-direction=horiz", false, probe)
            }
        guard failed == 0 else { throw BenchError("the C side failed") }
    }
}

/// A finished run, from its first frame to its last.
struct Measured: Sendable {
    var frames: Int
    /// Seconds.
    var wall: Double
    var cpu: Double

    /// 0 for a case that isn't timed.
    var framesPerSecond: Double { wall > 0 ? Double(frames - 1) / wall : 0 }
    var cpuPerFrame: Double { cpu / Double(frames - 1) }
}

struct BenchError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Where a run's frames are told.
///
/// `@unchecked Sendable`: one thread writes during a run, and it is read after the run has ended.
final class Probe: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<PCProbe>

    init(expecting frames: Int) {
        pointer = .allocate(capacity: 1)
        pointer.initialize(to: PCProbe())
        pointer.pointee.expected = UInt64(frames)
    }

    deinit { pointer.deallocate() }
}
