import CMediaGraphABI
import GStreamer

/// A virtual microphone as its node holds it.
///
/// `@unchecked Sendable`: the C structure is constant; the node calls it from one state change at a time.
final class AudioSourceHandle: HandlerHandle, SourceHandling, @unchecked Sendable {
    private let abi: MGAudioSource
    let name: String

    /// Takes the source over.
    init(_ abi: MGAudioSource) {
        self.abi = abi
        name = loadName(abi.name)
    }

    deinit { abi.destroy(abi.context) }

    func rules(_ node: QueuedBlock.Rules) -> QueuedBlock.Rules { node }

    func initialize(_ gate: AudioGate, downstream: Caps?) throws(MediaGraphError) {
        var sender = MGAudioSender(gate)
        try MediaGraphError.check { abi.initialize(abi.context, &sender, $0) }
    }

    /// What downstream takes is the node's affair, which converts.
    func downstreamChanged(_ downstream: Caps?) {}

    func startSend() throws(MediaGraphError) { try MediaGraphError.check { abi.start_send(abi.context, $0) } }
    func stopSend() { abi.stop_send(abi.context) }
    func uninitialize() { abi.uninitialize(abi.context) }
}

extension MGAudioSource {
    /// Wraps a Swift microphone. Whoever holds the structure calls `destroy` once.
    init(_ source: some VirtualMic, name: String) {
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
