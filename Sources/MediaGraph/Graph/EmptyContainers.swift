import GStreamer
import Synchronization

/// Keeps muxers from writing containers without media.
///
/// A muxer whose inputs all end before their first buffer still writes its header, which would replace the recording that was
/// in the file. That header is dropped: the sink receives nothing, and says so.
final class EmptyContainers: Sendable {
    private let current = Mutex<[MuxerInputs]>([])

    /// Before a run.
    func begin(in pipeline: Pipeline) {
        end()
        let muxers = pipeline.allElements.filter(\.writesContainer)
        current.withLock { $0 = muxers.map(MuxerInputs.init) }
    }

    /// After a run, whose probes remove themselves at the next buffer.
    func end() { for inputs in current.withLock({ $0 }) { inputs.end() } }
}

/// What has come into one muxer in a run.
private final class MuxerInputs: Sendable {
    private struct State: Sendable {
        var isOver = false
        var hasData = false
        /// Names of pads.
        var ended: Set<String> = []
    }
    private let state = Mutex(State())

    init(_ muxer: Element) {
        for pad in muxer.pads {
            switch pad.direction {
            case .sink: watch(pad)
            // A muxer that writes before its inputs have ended has a reason: a live stream's readers wait for the header.
            default: pad.discardBuffers(while: haveEndedEmpty)
            }
        }
    }

    func end() { state.withLock { $0.isOver = true } }

    /// Until its first buffer, or its end.
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
