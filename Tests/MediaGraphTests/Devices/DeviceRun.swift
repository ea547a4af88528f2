import GStreamer
import Synchronization
import TestSupport

@testable import MediaGraph
@testable import MediaGraphDevices

/// A graph with a `devicesource`, and the buffers and events that come from it. The stream runs in real time; the node's
/// time limits and pauses follow `clock`.
struct DeviceRun {
    struct Seen: Sendable {
        var time: ClockTime
        var duration: Duration
        /// When the device produced the buffer; `nil` for a stand-in's buffer.
        var made: UInt64?
        var end: ClockTime { time + duration }
    }

    let device: PluggableDevice
    let graph: Graph
    let clock = VirtualClock()
    let seen = Log<Seen>()
    let events = Log<GraphEvent>()

    init(
        _ properties: String, _ state: PluggableDevice.State = .there, name: String = #function,
        behind: String = "", then: String = "fakesink name=end sync=false"
    ) throws {
        device = PluggableDevice(name, state)
        graph = try Graph(
            "devicesource name=d \(properties) source=\"testcamera device=\\\"\(name)\\\" \(behind)\" ! \(then)")
        try graph.useClock(clock, ofDevices: "d")
        graph.listen(Graph.Listener { [events] in events.add($0) })
        try graph.element("d").staticPad("src")?.observeBuffers { [seen] buffer in
            seen.add(
                Seen(
                    time: buffer.presentationTimestamp ?? .zero, duration: buffer.duration ?? .zero,
                    made: buffer.made))
        }
    }

    /// Whether the end of the stream has reached the element behind the node.
    var hasEnded: Bool { get throws { try graph.element("end").staticPad("sink")!.hasEnded } }

    var frames: Int { seen.all.count { $0.made != nil } }
    var slates: Int { seen.all.count { $0.made == nil } }

    /// Waits until the device has given `count` more buffers.
    func deviceGives(_ count: Int = 3) -> Bool {
        let before = frames
        return waitUntil { frames >= before + count }
    }

    /// How long the node waits before it looks for its device again.
    static let pause = Duration.seconds(1)

    /// Plugs the device in before the node looks for it again, and waits until its data flows.
    func deviceReturns(_ count: Int = 3) async throws -> Bool {
        guard try await eventually({ clock.deadlines.contains(Self.pause) }) else { return false }
        device.state = .there
        clock.advance(by: Self.pause)
        return deviceGives(count)
    }

    /// Waits until calls to the device hang, and lets the time limit of the last one pass.
    func hangs(for limit: Duration, calls: Int = 1) async throws -> Bool {
        // On a thread of its own: a start or a stop in a task may need this one.
        guard await runBlocking({ [device] in device.hangs(calls) }) else { return false }
        return try await clock.pass(limit)
    }

    /// Changes the graph's state on another thread, and lets the half seconds pass that the change may give the node's
    /// own thread. Returns false if the change hasn't returned after a minute.
    func changes(to state: State) async throws -> Bool {
        let isDone = Atomic<Bool>(false)
        NativeThread("changing state") { [graph] in
            graph.pipeline.setState(state)
            isDone.store(true, ordering: .releasing)
        }.detach()
        return try await eventually {
            if clock.deadlines.contains(.milliseconds(500)) { clock.advance(by: .milliseconds(500)) }
            return isDone.load(ordering: .acquiring)
        }
    }

    /// The state of the node and its device.
    var state: BlockingMonitor<DeviceState> {
        get throws {
            ElementClass.implementation(of: try graph.element("d").element, as: DeviceSourceElement.self).deviceState
        }
    }

    var warnings: [String] {
        events.all.compactMap { if case .warning(let failure) = $0 { failure.error.message } else { nil } }
    }

    var lost: [(device: String, at: ClockTime, reason: String)] {
        events.all.compactMap {
            if case .deviceLost(_, let device, let at, let reason) = $0 { (device, at, reason) } else { nil }
        }
    }

    var back: [(lostAt: ClockTime, backAt: ClockTime)] {
        events.all.compactMap {
            if case .deviceBack(_, _, let lostAt, let backAt) = $0 { (lostAt, backAt) } else { nil }
        }
    }

    var stats: Structure { get throws { try graph.element("d").property("stats", as: Structure.self) } }
}
