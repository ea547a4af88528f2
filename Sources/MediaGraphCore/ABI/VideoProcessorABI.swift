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

/// What the C function pointers lead back to: one virtual call to the handler's own type, no allocation.
private class AnyProcessorBox {
    func process(_ frame: UnsafePointer<MGVideoFrame>, _ error: UnsafeMutablePointer<MGError>?) -> Int32 { MG_FAILED }
}

private final class ProcessorBox<P: VideoProcessor>: AnyProcessorBox {
    /// Behind a pointer: the node calls one at a time, so the 117 instructions that a dynamic check of exclusive access
    /// takes for each frame could find nothing.
    private let processor: UnsafeMutablePointer<P>

    init(_ processor: consuming P) {
        self.processor = .allocate(capacity: 1)
        self.processor.initialize(to: processor)
    }

    deinit {
        processor.deinitialize(count: 1)
        processor.deallocate()
    }

    override func process(_ source: UnsafePointer<MGVideoFrame>, _ error: UnsafeMutablePointer<MGError>?) -> Int32 {
        Verdict.status(error, "the handler") {
            guard var frame = VideoFrame(source) else { throw MediaGraphError.unknownFormat }
            return try processor.pointee.process(&frame)
        }
    }
}

/// From the ABI's comma-separated names.
package func formatList(_ names: String) -> [VideoFormat] {
    names.split(separator: ",").compactMap { VideoFormat(rawValue: String($0)) }
}
