import GStreamer
import Synchronization

/// A node's counters, which the `stats` property reads while frames flow. They are relaxed atomics, so counting takes
/// no lock.
package final class NodeStatistics: Sendable {
    /// Frames or blocks that were delivered.
    package let frames = Atomic<UInt64>(0)
    /// The bytes of the frames or blocks. Only for the streams of sessions.
    package let bytes = Atomic<UInt64>(0)
    /// Frames or blocks that were accepted and then discarded.
    package let dropped = Atomic<UInt64>(0)
    /// Frames or blocks that a sender offered and the node didn't accept.
    let refused = Atomic<UInt64>(0)
    /// Frames or blocks that weren't sent because the user had turned the camera or the microphone off.
    package let muted = Atomic<UInt64>(0)
    /// Frames for which the handler failed and the graph went on.
    let failed = Atomic<UInt64>(0)
    /// Frames for which the handler took longer than `max-time`.
    let late = Atomic<UInt64>(0)
    /// The total time in the handler, in nanoseconds.
    let handlerNanoseconds = Atomic<UInt64>(0)
    /// How long after its running time the last frame was delivered, in nanoseconds. Only for pipes and speakers.
    let latenessNanoseconds = Atomic<Int64>(0)
    /// Nanoseconds of silence that were sent in place of missing sound. Only for microphones.
    let silenceNanoseconds = Atomic<UInt64>(0)
    /// Nanoseconds of sound that were dropped because the sender's clock was ahead. Only for microphones.
    let skippedNanoseconds = Atomic<UInt64>(0)

    package init() {}

    package func reset() {
        frames.store(0, ordering: .relaxed)
        bytes.store(0, ordering: .relaxed)
        dropped.store(0, ordering: .relaxed)
        refused.store(0, ordering: .relaxed)
        muted.store(0, ordering: .relaxed)
        failed.store(0, ordering: .relaxed)
        late.store(0, ordering: .relaxed)
        handlerNanoseconds.store(0, ordering: .relaxed)
        latenessNanoseconds.store(0, ordering: .relaxed)
        silenceNanoseconds.store(0, ordering: .relaxed)
        skippedNanoseconds.store(0, ordering: .relaxed)
    }

    @inline(__always)
    package func countFrame() { frames.wrappingAdd(1, ordering: .relaxed) }

    /// Counts a frame with its bytes. Who reads `frames` with acquiring order finds the bytes of these frames.
    @inline(__always)
    package func countFrame(bytes count: Int) {
        bytes.wrappingAdd(UInt64(count), ordering: .relaxed)
        frames.wrappingAdd(1, ordering: .releasing)
    }

    @inline(__always)
    package func countDrop() { dropped.wrappingAdd(1, ordering: .relaxed) }

    func countSilence(nanoseconds: UInt64) { silenceNanoseconds.wrappingAdd(nanoseconds, ordering: .relaxed) }

    func countSkipped(nanoseconds: UInt64) { skippedNanoseconds.wrappingAdd(nanoseconds, ordering: .relaxed) }

    package func countMuted() { muted.wrappingAdd(1, ordering: .relaxed) }

    func countRefusal() { refused.wrappingAdd(1, ordering: .relaxed) }

    /// The value of the `stats` property.
    package var structure: Structure { Structure(Self.name, fields) }

    package var fields: [(String, any ValueConvertible)] {
        [
            ("frames", frames.load(ordering: .relaxed)), ("dropped", dropped.load(ordering: .relaxed)),
            ("refused", refused.load(ordering: .relaxed)), ("failed", failed.load(ordering: .relaxed)),
            ("late", late.load(ordering: .relaxed)), ("handler-time", handlerNanoseconds.load(ordering: .relaxed)),
            ("lateness", latenessNanoseconds.load(ordering: .relaxed)),
            ("silence", silenceNanoseconds.load(ordering: .relaxed)),
            ("skipped", skippedNanoseconds.load(ordering: .relaxed)),
            ("muted", muted.load(ordering: .relaxed)),
        ]
    }

    /// The name of the `stats` structure.
    package static let name = "mediagraph-stats"
    /// The default value of the `stats` property: a structure without fields.
    package static let nothing = Structure(name)

    /// Returns the `stats` property of a node that counts by itself.
    static func property<E: ElementImplementation>(of type: E.Type, _ get: @escaping @Sendable (E) -> NodeStatistics)
        -> PropertyDeclaration
    {
        property("stats", of: type) { get($0).structure }
    }

    /// Returns a `stats` property of a node that reports another node's counters.
    static func property<E: ElementImplementation>(
        _ name: String, of type: E.Type, _ get: @escaping @Sendable (E) -> Structure
    ) -> PropertyDeclaration {
        .readOnly(
            name, of: type, default: nothing,
            """
            The node's counters since it left READY: frames (uint64), dropped (uint64), refused (uint64), \
            failed (uint64, frames that were passed on or dropped after their handler failed), \
            late (uint64, frames whose handler took longer than max-time), handler-time (uint64, total nanoseconds), lateness (int64, nanoseconds, of the last frame), \
            silence (uint64, nanoseconds of silence inserted where a microphone's sound was missing or its clock lagged), \
            skipped (uint64, nanoseconds of a microphone's sound dropped because its clock was ahead), \
            muted (uint64, blocks of a device's sound not sent because the session had muted the microphone)
            """, get)
    }
}
