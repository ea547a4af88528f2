import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A pre-processor's handler, called through the C interface, since it may come from another copy of MediaGraph's code.
///
/// `@unchecked Sendable`: `process` is called under the node's stream lock. Everything else is constant.
final class ProcessorHandle: @unchecked Sendable {
    private let abi: MGVideoProcessor
    let name: String
    /// The formats that the handler supports; empty if it supports all.
    let formats: [VideoFormat]
    /// `formats` as caps.
    let caps: Caps

    /// Takes ownership of the handler.
    init(_ abi: MGVideoProcessor) {
        self.abi = abi
        name = loadName(abi.name)
        formats = formatList(loadName(abi.formats))
        caps = FrameCaps.of(formats: formats)
    }

    func takes(_ caps: Caps) -> Bool { caps.areFrames(in: self.caps) }

    deinit { abi.destroy(abi.context) }

    /// Runs the handler on one frame. Throws the handler's error.
    @inline(__always)
    func process(_ frame: UnsafePointer<MGVideoFrame>) throws(MediaGraphError) -> Verdict {
        try Verdict { abi.process(abi.context, frame, $0) }
    }
}
