import GStreamer
import MediaGraphElements
import Synchronization

/// Counts how often a device was away, and for how long, for the node's `stats`.
final class DeviceAbsences: Sendable {
    private let count = Atomic<UInt64>(0)
    private let time = Atomic<UInt64>(0)

    func reset() {
        count.store(0, ordering: .relaxed)
        time.store(0, ordering: .relaxed)
    }

    /// Counts an absence of this length.
    func add(_ gap: Duration) {
        count.wrappingAdd(1, ordering: .relaxed)
        time.wrappingAdd(gap.nanoseconds, ordering: .relaxed)
    }

    private var fields: [(String, any ValueConvertible)] {
        [("gaps", count.load(ordering: .relaxed)), ("gap-time", time.load(ordering: .relaxed))]
    }

    static func property(of type: DeviceSourceElement.Type) -> PropertyDeclaration {
        .readOnly(
            "stats", of: type, default: NodeStatistics.nothing,
            """
            What the node has counted since it left NULL: frames (uint64, buffers from the device), gaps (uint64, times that the device \
            was away and returned), gap-time (uint64, total nanoseconds of these gaps), and the counters that all nodes have
            """
        ) { Structure(NodeStatistics.name, $0.statistics.fields + $0.absences.fields) }
    }
}
