import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// A node's handle to a video source, which may come from another copy of this code.
///
/// `@unchecked Sendable`: the C structure is constant, and the node's state changes call it one at a time.
final class VideoSourceHandle: SourceHandling, @unchecked Sendable {
    private let abi: MGVideoSource
    let name: String
    private let isOwner = Atomic<Bool>(true)
    /// The capabilities that the source was last informed of.
    private let announced = Mutex<SupportedCapabilities?>(nil)

    /// Takes ownership of the source.
    init(_ abi: MGVideoSource) {
        self.abi = abi
        name = loadName(abi.name)
    }

    deinit { if isOwner.load(ordering: .relaxed) { abi.destroy(abi.context) } }

    func disown() { isOwner.store(false, ordering: .relaxed) }

    func rules(_ node: [VideoCapability]) -> [VideoCapability] { capabilities }

    private var capabilities: [VideoCapability] {
        let count = Int(abi.capabilities(abi.context, nil, 0))
        guard count > 0 else { return [] }
        let list = [MGVideoCapability](unsafeUninitializedCapacity: count) { buffer, initialized in
            initialized = min(count, Int(abi.capabilities(abi.context, buffer.baseAddress, Int64(count))))
        }
        return list.map(VideoCapability.init)
    }

    func initialize(_ gate: VideoGate, downstream: DownstreamConstraints) throws(MediaGraphError) {
        let supported = SupportedCapabilities(declared: gate.rules, downstream: downstream)
        announced.withLock { $0 = supported }
        QueuedFrame.log.log(
            .info, gate.owner.element,
            "handler \(name): \(supported.list.count) capabilities, suggested \(supported.suggested.map(String.init(describing:)) ?? "none")"
        )
        var sender = MGVideoSender(gate)
        let list = supported.list.map(\.abi)
        try MediaGraphError.check {
            abi.initialize(abi.context, &sender, list, Int64(list.count), supported.suggested?.abi ?? .init(), $0)
        }
    }

    /// Informs the source if the supported capabilities or the suggestion differ from the last ones.
    func downstreamChanged(_ downstream: DownstreamConstraints) {
        let supported = SupportedCapabilities(declared: capabilities, downstream: downstream)
        let hasChanged = announced.withLock { announced in
            defer { announced = supported }
            return announced != supported
        }
        guard hasChanged else { return }
        QueuedFrame.log.log(
            .info, nil,
            "property change: \(supported.list.count) capabilities, suggested \(supported.suggested.map(String.init(describing:)) ?? "none")"
        )
        let list = supported.list.map(\.abi)
        abi.property_change(abi.context, list, Int64(list.count), supported.suggested?.abi ?? .init())
    }

    func startSend() throws(MediaGraphError) { try MediaGraphError.check { abi.start_send(abi.context, $0) } }
    func stopSend() { abi.stop_send(abi.context) }
    func uninitialize() { abi.uninitialize(abi.context) }
}
