import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A pre-processor's handler as a node holds it, whichever copy of the code it comes from.
///
/// `@unchecked Sendable`: `process` is called by the one thread that holds the node's stream lock; the rest is constant.
final class ProcessorHandle: @unchecked Sendable {
    private let abi: MGVideoProcessor
    let name: String
    /// Empty: all.
    let formats: [VideoFormat]
    /// The same as caps.
    let caps: Caps

    /// Takes the handler over.
    init(_ abi: MGVideoProcessor) {
        self.abi = abi
        name = loadName(abi.name)
        formats = formatList(loadName(abi.formats))
        caps = FrameCaps.of(formats: formats)
    }

    func takes(_ caps: Caps) -> Bool { caps.areFrames(in: self.caps) }

    deinit { abi.destroy(abi.context) }

    /// Runs the handler; a failure comes back as its error.
    @inline(__always)
    func process(_ frame: UnsafePointer<MGVideoFrame>) throws(MediaGraphError) -> Verdict {
        try Verdict { abi.process(abi.context, frame, $0) }
    }
}
