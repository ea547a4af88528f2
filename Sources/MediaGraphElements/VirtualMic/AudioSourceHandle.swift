import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A virtual microphone as its node holds it.
///
/// `@unchecked Sendable`: the C structure is constant; the node calls it from one state change at a time.
final class AudioSourceHandle: SourceHandling, @unchecked Sendable {
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
