import CMediaGraphABI
import GStreamer

/// A pre-processor's handler as a node holds it, whichever copy of the code it comes from.
///
/// `@unchecked Sendable`: `process` is called by the one thread that holds the node's stream lock; the rest is constant.
@usableFromInline package final class ProcessorHandle: @unchecked Sendable {
    @usableFromInline let abi: MGVideoProcessor
    package let name: String
    /// Empty: all.
    package let formats: [VideoFormat]
    /// The same as caps.
    package let caps: Caps

    /// Takes the handler over.
    package init(_ abi: MGVideoProcessor) {
        self.abi = abi
        name = loadName(abi.name)
        formats = formatList(loadName(abi.formats))
        caps = FrameCaps.of(formats: formats)
    }

    package func takes(_ caps: Caps) -> Bool { caps.areFrames(in: self.caps) }

    deinit { abi.destroy(abi.context) }

    /// Runs the handler; a failure comes back as its error.
    @inlinable @inline(__always)
    package func process(_ frame: UnsafePointer<MGVideoFrame>) throws(MediaGraphError) -> Verdict {
        try Verdict { abi.process(abi.context, frame, $0) }
    }
}

extension MGVideoProcessor {
    /// Wraps a Swift handler. Whoever holds the structure calls `destroy` once.
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
