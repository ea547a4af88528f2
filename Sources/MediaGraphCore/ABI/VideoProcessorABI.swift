import CMediaGraphABI
import GStreamer

extension MGVideoProcessor {
    /// Wraps a Swift handler. The structure's owner calls `destroy` once.
    package init<P: VideoProcessor>(_ processor: consuming sending P, name: String) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        context = Unmanaged.passRetained(ProcessorBox(processor)).toOpaque()
        process = { context, frame, error in
            Unmanaged<AnyProcessorBox>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.process(frame!, error) }
        }
        destroy = { Unmanaged<AnyProcessorBox>.fromOpaque($0!).release() }
        storeName(P.formats.map(\.gstreamerName).joined(separator: ","), in: &formats)
        storeName(name, in: &self.name)
    }
}

/// The context behind the C function pointers. Each frame costs one virtual call to the handler's own type and no
/// allocation.
private class AnyProcessorBox {
    func process(_ frame: UnsafePointer<MGVideoFrame>, _ error: UnsafeMutablePointer<MGError>?) -> Int32 { MG_FAILED }
}

private final class ProcessorBox<P: VideoProcessor>: AnyProcessorBox {
    private let processor: HandlerStorage<P>

    init(_ processor: consuming P) { self.processor = HandlerStorage(processor) }

    override func process(_ source: UnsafePointer<MGVideoFrame>, _ error: UnsafeMutablePointer<MGError>?) -> Int32 {
        Verdict.status(error, "the handler") {
            guard var frame = VideoFrame(source) else { throw MediaGraphError.unknownFormat }
            return try processor.pointer.pointee.process(&frame)
        }
    }
}

/// Reads the ABI's comma-separated list of format names. Names that this copy doesn't know are left out.
package func formatList(_ names: String) -> [VideoFormat] {
    names.split(separator: ",").compactMap { VideoFormat(rawValue: String($0)) }
}
