import CMediaGraphABI
import GStreamer

extension MGAudioProcessor {
    /// Wraps a Swift handler. The structure's owner calls `destroy` once.
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

/// The context behind the C function pointers. Each block costs one virtual call to the handler's own type and no
/// allocation.
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
