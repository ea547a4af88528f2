import GStreamer
import Synchronization

/// Keeps muxers from writing containers without media.
///
/// A muxer whose inputs all end before their first buffer still writes its header, which would replace an earlier
/// recording in the file. This class drops that header. The sink then receives nothing, which is reported as any sink
/// without data is.
final class EmptyContainers: Sendable {
    private let current = Mutex<[MuxerInputs]>([])

    /// Starts watching the muxers of a pipeline before a run.
    func begin(in pipeline: Pipeline) {
        end()
        let muxers = pipeline.allElements.filter(\.writesContainer)
        current.withLock { $0 = muxers.map(MuxerInputs.init) }
    }

    /// Stops watching after a run. The probes remove themselves at the next buffer.
    func end() { for inputs in current.withLock({ $0 }) { inputs.end() } }
}

/// What has arrived at the inputs of one muxer in a run.
private final class MuxerInputs: Sendable {
    private struct State: Sendable {
        var isOver = false
        var hasData = false
        /// The names of the pads that have received EOS.
        var ended: Set<String> = []
    }
    private let state = Mutex(State())

    init(_ muxer: Element) {
        for pad in muxer.pads {
            switch pad.direction {
            case .sink: watch(pad)
            // A header written before the inputs have ended isn't dropped: readers of a live stream wait for it.
            default: pad.discardBuffers(while: haveEndedEmpty)
            }
        }
    }

    func end() { state.withLock { $0.isOver = true } }

    /// Watches an input until its first buffer or EOS.
    private func watch(_ pad: Pad) {
        pad.watchArrivals { [self, name = pad.name] arrival in
            state.withLock { state in
                guard !state.isOver else { return false }
                switch arrival {
                case .event: return true
                case .buffer: state.hasData = true
                case .endOfStream: state.ended.insert(name)
                }
                return false
            }
        }
    }

    private func haveEndedEmpty(_ muxer: Element) -> Bool {
        let inputs = muxer.pads.filter { $0.direction == .sink && $0.isLinked }
        return state.withLock { state in
            !state.isOver && !state.hasData && inputs.allSatisfy { state.ended.contains($0.name) }
        }
    }
}

extension Element {
    fileprivate var writesContainer: Bool {
        let classification = factoryName.flatMap(ElementFactoryInfo.find)?.classification ?? ""
        return classification.contains("Muxer") || classification.contains("Formatter")
    }
}
