import CMediaGraphABI
import GStreamer

extension MGAudioSource {
    /// Wraps a Swift microphone. The structure's owner calls `destroy` once.
    package init(_ source: some VirtualMic, name: String) {
        self.init()
        let source: any VirtualMic = (source as? any AsyncVirtualMic).map(VirtualMicTask.init) ?? source
        abi_version = MEDIAGRAPH_ABI_VERSION
        context = Unmanaged.passRetained(MicBox(source)).toOpaque()
        initialize = { context, sender, error in
            let sender = AudioSender(sender!.pointee)
            return MediaGraphError.answer(error) { try MicBox.of(context).source.micInitialize(sender: sender) }
        }
        start_send = { context, error in MediaGraphError.answer(error) { try MicBox.of(context).source.micStartSend() }
        }
        stop_send = { MicBox.of($0).source.micStopSend() }
        uninitialize = { MicBox.of($0).source.micUninitialize() }
        destroy = { Unmanaged<MicBox>.fromOpaque($0!).release() }
        storeName(name, in: &self.name)
    }
}

private final class MicBox {
    let source: any VirtualMic
    init(_ source: any VirtualMic) { self.source = source }

    static func of(_ context: UnsafeMutableRawPointer?) -> MicBox {
        Unmanaged<MicBox>.fromOpaque(context!).takeUnretainedValue()
    }
}
