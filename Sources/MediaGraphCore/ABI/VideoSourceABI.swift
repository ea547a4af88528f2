import CMediaGraphABI
import GStreamer

extension MGVideoSource {
    /// Wraps a Swift source. The structure's owner calls `destroy` once.
    package init(_ source: some VideoSource, name: String) {
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
    package init(_ abi: MGVideoCapability) {
        self.init(
            width: Int(abi.width), height: Int(abi.height),
            framesPerSecond: Fraction(abi.rate_numerator, abi.rate_denominator))
    }

    package var abi: MGVideoCapability {
        MGVideoCapability(
            width: Int32(clamping: width), height: Int32(clamping: height),
            rate_numerator: framesPerSecond.numerator, rate_denominator: framesPerSecond.denominator)
    }
}
