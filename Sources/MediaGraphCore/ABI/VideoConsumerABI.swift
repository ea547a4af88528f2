import CMediaGraphABI
import GStreamer

extension MGVideoConsumer {
    /// Wraps a Swift handler. The structure's owner calls `destroy` once.
    package init<C: VideoConsumer>(_ consumer: consuming sending C, name: String) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        let interruption = (copy consumer as? any InterruptibleHandler)?.interruption
        context = Unmanaged<AnyConsumerBox>.passRetained(ConsumerBox(consumer, interruption)).toOpaque()
        start = { _, _, _ in }
        interrupt = { AnyConsumerBox.of($0).interruption?.set(true) }
        resume = { AnyConsumerBox.of($0).interruption?.set(false) }
        frame = { context, frame, error in
            Unmanaged<AnyConsumerBox>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.receive(frame!, error) }
        }
        status = { AnyConsumerBox.of($0).statusChanged(isOn: $1 != 0) }
        end = { AnyConsumerBox.of($0).finish($1) }
        remark = { AnyConsumerBox.of($0).remark.flatMap { g_strdup($0) } }
        destroy = { Unmanaged<AnyConsumerBox>.fromOpaque($0!).release() }
        storeName(C.formats.map(\.gstreamerName).joined(separator: ","), in: &formats)
        storeName(name, in: &self.name)
    }
}

/// The context behind the C function pointers. Each frame costs one virtual call to the handler's own type and no
/// allocation.
private class AnyConsumerBox {
    let interruption: Interruption?

    init(_ interruption: Interruption?) { self.interruption = interruption }

    func receive(_ frame: UnsafePointer<MGVideoFrame>, _ error: UnsafeMutablePointer<MGError>?) -> Int32 { MG_FAILED }
    func statusChanged(isOn: Bool) {}
    func finish(_ error: UnsafeMutablePointer<MGError>?) -> Int32 { MG_FAILED }
    var remark: String? { nil }

    static func of(_ context: UnsafeMutableRawPointer?) -> AnyConsumerBox {
        Unmanaged<AnyConsumerBox>.fromOpaque(context!).takeUnretainedValue()
    }
}

private final class ConsumerBox<C: VideoConsumer>: AnyConsumerBox {
    private let consumer: HandlerStorage<C>

    init(_ consumer: consuming C, _ interruption: Interruption?) {
        self.consumer = HandlerStorage(consumer)
        super.init(interruption)
    }

    override func receive(_ source: UnsafePointer<MGVideoFrame>, _ error: UnsafeMutablePointer<MGError>?) -> Int32 {
        MediaGraphError.status(error, "the handler") {
            switch source.pointee.kind {
            case MG_NATIVE: try consumer.pointer.pointee.receive(NativeVideoFrame(source))
            case MG_ENCODED:
                guard let unit = EncodedVideoFrame(source) else { throw MediaGraphError.unknownCodec }
                try consumer.pointer.pointee.receive(unit)
            default:
                guard let frame = VideoFrame(source) else { throw MediaGraphError.unknownFormat }
                try consumer.pointer.pointee.receive(frame)
            }
        }
    }

    override var remark: String? { consumer.pointer.pointee.remark }

    override func statusChanged(isOn: Bool) { consumer.pointer.pointee.statusChanged(isOn: isOn) }

    override func finish(_ error: UnsafeMutablePointer<MGError>?) -> Int32 {
        MediaGraphError.status(error, "the handler") { try consumer.pointer.pointee.finish() }
    }
}
