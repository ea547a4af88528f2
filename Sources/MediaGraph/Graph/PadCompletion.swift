import Dispatch
import GStreamer
import Synchronization

/// Emits `no-more-pads` for demuxers that don't emit it themselves.
///
/// A description's link to a stream that the input lacks fails when GStreamer emits `no-more-pads`. Some elements never
/// emit the signal, and their graph would wait for the stream for ever. While a graph starts, this class polls these
/// elements, and emits the signal once no stream can appear any more: the input has ended, or a full queue has blocked
/// the demuxer's thread for two seconds. An input that merely pauses, such as a slow server, doesn't trigger it.
final class PadCompletion: Sendable {
    private static let factories: Set = ["flvdemux", "parsebin", "decodebin3", "uridecodebin3"]
    private static let interval = Duration.milliseconds(100)
    private static let requiredLooks = 20

    /// The queue on which the signal is emitted. Its handlers may change elements' states, which would block one of
    /// Swift's cooperative threads.
    private let queue = DispatchQueue(label: "mediagraph.pad-completion")
    private let watch = Mutex<Task<Void, any Error>?>(nil)

    /// Starts polling before a run. `isStarting` returns whether the graph still waits for streams.
    func begin(in pipeline: Pipeline, isStarting: @escaping @Sendable () -> Bool) {
        let demuxers = pipeline.allElements.filter { $0.factoryName.map(Self.factories.contains) == true }
        guard !demuxers.isEmpty else { return }
        let watch = Task { [queue] in
            // For each demuxer, the number of successive looks that found it blocked or at its end.
            var looks = Dictionary(uniqueKeysWithValues: demuxers.map { ($0, 0) })
            while !looks.isEmpty {
                try await Task.sleep(for: Self.interval)
                guard isStarting() else { return }
                let elements = pipeline.allElements
                for (demuxer, count) in looks {
                    let next = demuxer.givesNoMore(elements) ? count + 1 : 0
                    looks[demuxer] = next < Self.requiredLooks ? next : nil
                    guard next >= Self.requiredLooks else { continue }
                    // The run may end before the queue gets to this.
                    queue.async { if isStarting() { demuxer.emitNoMorePads() } }
                }
            }
        }
        self.watch.withLock { $0 = watch }
    }

    /// Stops polling after a run. May be called any number of times.
    func end() { watch.withLock { $0.take() }?.cancel() }
}

extension Element {
    /// Returns whether at this moment the element's input has ended, or a queue inside or downstream of it is full and
    /// blocks its thread.
    fileprivate func givesNoMore(_ elements: [Element]) -> Bool {
        let inside = elements.filter { $0.ancestors.contains(self) }
        return ([self] + inside).contains { element in
            let outputs = element.pads.filter { $0.direction == .source && $0.isLinked }
            guard !outputs.isEmpty else { return false }
            let isDemuxer =
                element == self
                || element.factoryName.flatMap(ElementFactoryInfo.find)?.classification.contains("Demuxer") == true
            if isDemuxer, outputs.allSatisfy(\.hasEnded) { return true }
            return outputs.contains { pad in
                guard let sink = pad.neighbor, sink.parent?.isQueue == true else { return false }
                return sink.isReceiving
            }
        }
    }
}
