import GStreamer
import Synchronization

/// Counts what comes into a graph's stock sinks at their pads: an element's own statistics begin anew with each segment, and not
/// every sink has them.
final class SinkCounters: Sendable {
    private let counters = Mutex<[Pad: BufferCounter]>([:])

    /// Before a run: counts from zero, at the pads of the sinks that are there.
    func begin(in pipeline: Pipeline) {
        for counter in counters.withLock({ Array($0.values) }) { counter.reset() }
        for element in pipeline.allElements { watch(element) }
    }

    /// Counts at this element's pads too, where it is a sink. Again for one that is counted: nothing.
    func watch(_ element: Element) {
        guard element.isSink, !element.isBin else { return }
        for pad in element.pads where pad.direction == .sink {
            counters.withLock { counters in
                if counters[pad] == nil { counters[pad] = pad.countBuffers() }
            }
        }
    }

    /// What has come into a sink, by all of its pads; `nil` for what isn't counted.
    func count(of sink: Element) -> UInt64? {
        let pads = sink.pads
        return counters.withLock { counters in
            let counts = pads.compactMap { counters[$0]?.count }
            return counts.isEmpty ? nil : counts.reduce(0, +)
        }
    }

    /// After a run, which may be the sinks' last.
    func end(in pipeline: Pipeline) {
        let pads = Set(pipeline.allElements.flatMap(\.pads))
        counters.withLock { counters in counters = counters.filter { pads.contains($0.key) } }
    }
}
