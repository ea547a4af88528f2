import CMediaGraphABI
import GStreamer
import Synchronization

/// A video source as its node holds it.
///
/// `@unchecked Sendable`: the C structure is constant; the node calls it from one state change at a time.
final class VideoSourceHandle: HandlerHandle, SourceHandling, @unchecked Sendable {
    private let abi: MGVideoSource
    let name: String
    /// What it was told last.
    private let announced = Mutex<SupportedCapabilities?>(nil)

    /// Takes the source over.
    init(_ abi: MGVideoSource) {
        self.abi = abi
        name = loadName(abi.name)
    }

    deinit { abi.destroy(abi.context) }

    func rules(_ node: [VideoCapability]) -> [VideoCapability] { capabilities }

    private var capabilities: [VideoCapability] {
        let count = Int(abi.capabilities(abi.context, nil, 0))
        guard count > 0 else { return [] }
        let list = [MGVideoCapability](unsafeUninitializedCapacity: count) { buffer, initialized in
            initialized = min(count, Int(abi.capabilities(abi.context, buffer.baseAddress, Int64(count))))
        }
        return list.map(VideoCapability.init)
    }

    func initialize(_ gate: VideoGate, downstream: Caps?) throws(MediaGraphError) {
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

    /// The source is told when the outcome differs from the last one.
    func downstreamChanged(_ downstream: Caps?) {
        let supported = SupportedCapabilities(declared: capabilities, downstream: downstream)
        let isNews = announced.withLock { announced in
            defer { announced = supported }
            return announced != supported
        }
        guard isNews else { return }
        QueuedFrame.log.log(.info, nil, "property change: \(supported.list.count) capabilities")
        let list = supported.list.map(\.abi)
        abi.property_change(abi.context, list, Int64(list.count), supported.suggested?.abi ?? .init())
    }

    func startSend() throws(MediaGraphError) { try MediaGraphError.check { abi.start_send(abi.context, $0) } }
    func stopSend() { abi.stop_send(abi.context) }
    func uninitialize() { abi.uninitialize(abi.context) }
}

extension MGVideoSource {
    /// Wraps a Swift source. Whoever holds the structure calls `destroy` once.
    init(_ source: some VideoSource, name: String) {
        self.init()
        let source: any VideoSource = (source as? any AsyncVideoSource).map(VideoSourceTask.init) ?? source
        abi_version = MEDIAGRAPH_ABI_VERSION
        context = Unmanaged.passRetained(SourceBox(source)).toOpaque()
        capabilities = { context, list, room in
            let capabilities = SourceBox.of(context).source.capabilities
            for (index, capability) in capabilities.prefix(Int(room)).enumerated() { list![index] = capability.abi }
            return Int64(capabilities.count)
        }
        initialize = { context, sender, supported, count, suggested, error in
            let list = UnsafeBufferPointer(start: supported, count: Int(count)).map(VideoCapability.init)
            let sender = VideoSender(sender!.pointee)
            return MediaGraphError.answer(error) {
                try SourceBox.of(context).source.initialize(
                    sender: sender, supported: list,
                    suggested: suggested.width > 0 ? VideoCapability(suggested) : nil)
            }
        }
        property_change = { context, supported, count, suggested in
            let list = UnsafeBufferPointer(start: supported, count: Int(count)).map(VideoCapability.init)
            SourceBox.of(context).source.propertyChange(
                supported: list, suggested: suggested.width > 0 ? VideoCapability(suggested) : nil)
        }
        start_send = { context, error in MediaGraphError.answer(error) { try SourceBox.of(context).source.startSend() }
        }
        stop_send = { SourceBox.of($0).source.stopSend() }
        uninitialize = { SourceBox.of($0).source.uninitialize() }
        destroy = { Unmanaged<SourceBox>.fromOpaque($0!).release() }
        storeName(name, in: &self.name)
    }
}

private final class SourceBox {
    let source: any VideoSource
    init(_ source: any VideoSource) { self.source = source }

    static func of(_ context: UnsafeMutableRawPointer?) -> SourceBox {
        Unmanaged<SourceBox>.fromOpaque(context!).takeUnretainedValue()
    }
}

extension VideoCapability {
    init(_ abi: MGVideoCapability) {
        self.init(
            width: Int(abi.width), height: Int(abi.height),
            framesPerSecond: Fraction(abi.rate_numerator, abi.rate_denominator))
    }

    var abi: MGVideoCapability {
        MGVideoCapability(
            width: Int32(clamping: width), height: Int32(clamping: height),
            rate_numerator: framesPerSecond.numerator, rate_denominator: framesPerSecond.denominator)
    }
}
