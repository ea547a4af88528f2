import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A node's handle to an audio processor, which may come from another copy of this code.
///
/// `@unchecked Sendable`: only the thread that holds the node's stream lock calls `process`; the rest is constant.
final class AudioProcessorHandle: @unchecked Sendable {
    private let abi: MGAudioProcessor
    let name: String

    /// Takes ownership of the processor.
    init(_ abi: MGAudioProcessor) {
        self.abi = abi
        name = loadName(abi.name)
    }

    deinit { abi.destroy(abi.context) }

    /// Runs the processor on a block. Throws the error if the processor fails.
    @inline(__always)
    func process(_ frame: UnsafePointer<MGAudioFrame>) throws(MediaGraphError) -> Verdict {
        try Verdict { abi.process(abi.context, frame, $0) }
    }
}
