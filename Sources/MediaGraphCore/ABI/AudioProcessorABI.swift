import CMediaGraphABI
import GStreamer

/// An editor of audio as a node holds it, whichever copy of the code it comes from.
///
/// `@unchecked Sendable`: `process` is called by the one thread that holds the node's stream lock; the rest is constant.
@usableFromInline package final class AudioProcessorHandle: @unchecked Sendable {
    @usableFromInline let abi: MGAudioProcessor
    package let name: String

    /// Takes the handler over.
    package init(_ abi: MGAudioProcessor) {
        self.abi = abi
        name = loadName(abi.name)
    }

    deinit { abi.destroy(abi.context) }

    /// Runs the handler; a failure comes back as its error.
    @inlinable @inline(__always)
    package func process(_ frame: UnsafePointer<MGAudioFrame>) throws(MediaGraphError) -> Verdict {
        try Verdict { abi.process(abi.context, frame, $0) }
    }
}

extension MGAudioProcessor {
    /// Wraps a Swift handler. Whoever holds the structure calls `destroy` once.
    package init<P: AudioProcessor>(_ processor: consuming sending P, name: String) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        context = Unmanaged.passRetained(AudioProcessorBox(processor)).toOpaque()
        process = { context, frame, error in
            Unmanaged<AnyAudioProcessorBox>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.process(frame!, error) }
        }
        destroy = { Unmanaged<AnyAudioProcessorBox>.fromOpaque($0!).release() }
        storeName(name, in: &self.name)
    }
}

/// What the C function pointers lead back to: one virtual call to the handler's own type, no allocation.
private class AnyAudioProcessorBox {
    func process(_ frame: UnsafePointer<MGAudioFrame>, _ error: UnsafeMutablePointer<MGError>?) -> Int32 { MG_FAILED }
}

private final class AudioProcessorBox<P: AudioProcessor>: AnyAudioProcessorBox {
    private var processor: P

    init(_ processor: consuming P) { self.processor = processor }

    override func process(_ source: UnsafePointer<MGAudioFrame>, _ error: UnsafeMutablePointer<MGError>?) -> Int32 {
        Verdict.status(error, "the handler") {
            guard var frame = AudioFrame(source) else { throw MediaGraphError.unknownSampleFormat }
            return try processor.process(&frame)
        }
    }
}
