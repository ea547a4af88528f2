import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// A node's handle to a virtual microphone, which may come from another copy of this code.
///
/// `@unchecked Sendable`: the C structure is constant, and the node's state changes call it one at a time.
final class AudioSourceHandle: SourceHandling, @unchecked Sendable {
    private let abi: MGAudioSource
    let name: String
    private let isOwner = Atomic<Bool>(true)

    /// Takes ownership of the source.
    init(_ abi: MGAudioSource) {
        self.abi = abi
        name = loadName(abi.name)
    }

    deinit { if isOwner.load(ordering: .relaxed) { abi.destroy(abi.context) } }

    func disown() { isOwner.store(false, ordering: .relaxed) }

    func rules(_ node: QueuedBlock.Rules) -> QueuedBlock.Rules { node }

    func initialize(_ gate: AudioGate, downstream: DownstreamConstraints) throws(MediaGraphError) {
        var sender = MGAudioSender(gate)
        try MediaGraphError.check { abi.initialize(abi.context, &sender, $0) }
    }

    /// Does nothing: the node converts the sound to a format that downstream accepts.
    func downstreamChanged(_ downstream: DownstreamConstraints) {}

    func startSend() throws(MediaGraphError) { try MediaGraphError.check { abi.start_send(abi.context, $0) } }
    func stopSend() { abi.stop_send(abi.context) }
    func uninitialize() { abi.uninitialize(abi.context) }
}
