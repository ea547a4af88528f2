import GStreamer
import Synchronization

/// What a node counts: read by its `stats` property while frames flow. Relaxed atomics, so counting costs no lock.
package final class NodeStatistics: Sendable {
    package let frames = Atomic<UInt64>(0)
    package let dropped = Atomic<UInt64>(0)
    let refused = Atomic<UInt64>(0)
    /// Frames at which the handler failed, where the graph went on.
    let failed = Atomic<UInt64>(0)
    /// Frames for which the handler took longer than its time.
    let late = Atomic<UInt64>(0)
    /// Nanoseconds spent in the handler, in all.
    let handlerTime = Atomic<UInt64>(0)
    /// Nanoseconds that the last frame came after its running time (pipes).
    let lateness = Atomic<Int64>(0)
    /// Nanoseconds of silence that went out where no sound came (microphones).
    let silence = Atomic<UInt64>(0)
    /// Nanoseconds of sound that was left out because its clock ran off (microphones).
    let skipped = Atomic<UInt64>(0)

    package init() {}

    package func reset() {
        frames.store(0, ordering: .relaxed)
        dropped.store(0, ordering: .relaxed)
        refused.store(0, ordering: .relaxed)
        failed.store(0, ordering: .relaxed)
        late.store(0, ordering: .relaxed)
        handlerTime.store(0, ordering: .relaxed)
        lateness.store(0, ordering: .relaxed)
        silence.store(0, ordering: .relaxed)
        skipped.store(0, ordering: .relaxed)
    }

    @inline(__always)
    package func countFrame() { frames.wrappingAdd(1, ordering: .relaxed) }

    @inline(__always)
    package func countDrop() { dropped.wrappingAdd(1, ordering: .relaxed) }

    func countSilence(_ time: ClockTime) { silence.wrappingAdd(time.nanoseconds, ordering: .relaxed) }

    func countSkipped(_ time: ClockTime) { skipped.wrappingAdd(time.nanoseconds, ordering: .relaxed) }

    func countRefusal() { refused.wrappingAdd(1, ordering: .relaxed) }

    package var structure: Structure { Structure(Self.name, fields) }

    package var fields: [(String, any ValueConvertible)] {
        [
            ("frames", frames.load(ordering: .relaxed)), ("dropped", dropped.load(ordering: .relaxed)),
            ("refused", refused.load(ordering: .relaxed)), ("failed", failed.load(ordering: .relaxed)),
            ("late", late.load(ordering: .relaxed)), ("handler-time", handlerTime.load(ordering: .relaxed)),
            ("lateness", lateness.load(ordering: .relaxed)), ("silence", silence.load(ordering: .relaxed)),
            ("skipped", skipped.load(ordering: .relaxed)),
        ]
    }

    /// The name of the `stats` structure.
    package static let name = "mediagraph-stats"
    /// Nothing counted yet.
    package static let nothing = Structure(name)

    /// The `stats` property of every node.
    static func property<E: ElementImplementation>(of type: E.Type, _ get: @escaping @Sendable (E) -> NodeStatistics)
        -> PropertyDeclaration
    {
        property("stats", of: type) { get($0).structure }
    }

    /// The same for a node that has what another counts.
    static func property<E: ElementImplementation>(
        _ name: String, of type: E.Type, _ get: @escaping @Sendable (E) -> Structure
    ) -> PropertyDeclaration {
        .readOnly(
            name, of: type, default: nothing,
            """
            What the node has counted since it left READY: frames (uint64), dropped (uint64), refused (uint64), \
            failed (uint64, frames that were passed on or dropped after their handler failed), \
            late (uint64, frames whose handler took longer than max-time), handler-time (uint64, nanoseconds in all), lateness (int64, nanoseconds of the last frame), \
            silence (uint64, nanoseconds of silence inserted where a microphone's sound was missing or its clock lagged), \
            skipped (uint64, nanoseconds of a microphone's sound dropped because its clock was ahead)
            """, get)
    }
}
