import GStreamer
import MediaGraphElements
import Synchronization

/// How often a device was away, and for how long: part of what its node counts.
final class DeviceAbsences: Sendable {
    private let count = Atomic<UInt64>(0)
    private let time = Atomic<UInt64>(0)

    func reset() {
        count.store(0, ordering: .relaxed)
        time.store(0, ordering: .relaxed)
    }

    /// It is back after so long.
    func add(_ gap: ClockTime) {
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
            What the node has counted since it left NULL: frames (uint64, buffers that the device gave), gaps (uint64, times that \
            the device was away and came back), gap-time (uint64, nanoseconds that it was away in all), and the other nodes' counters
            """
        ) { Structure(NodeStatistics.name, $0.statistics.fields + $0.absences.fields) }
    }
}
