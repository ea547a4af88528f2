import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// An editor of audio as a node holds it, whichever copy of the code it comes from.
///
/// `@unchecked Sendable`: `process` is called by the one thread that holds the node's stream lock; the rest is constant.
final class AudioProcessorHandle: @unchecked Sendable {
    private let abi: MGAudioProcessor
    let name: String

    /// Takes the handler over.
    init(_ abi: MGAudioProcessor) {
        self.abi = abi
        name = loadName(abi.name)
    }

    deinit { abi.destroy(abi.context) }

    /// Runs the handler; a failure comes back as its error.
    @inline(__always)
    func process(_ frame: UnsafePointer<MGAudioFrame>) throws(MediaGraphError) -> Verdict {
        try Verdict { abi.process(abi.context, frame, $0) }
    }
}
