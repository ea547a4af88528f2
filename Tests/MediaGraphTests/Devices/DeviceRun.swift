import GStreamer
import TestSupport

@testable import MediaGraph

/// A graph with a `devicesource`, and the buffers and events that come from it.
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
    let seen = Log<Seen>()
    let events = Log<GraphEvent>()

    init(
        _ properties: String, _ state: PluggableDevice.State = .there, name: String = #function,
        behind: String = "", then: String = "fakesink name=end sync=false"
    ) throws {
        device = PluggableDevice(name, state)
        graph = try Graph(
            "devicesource name=d \(properties) source=\"testcamera device=\\\"\(name)\\\" \(behind)\" ! \(then)")
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
