import CMediaGraphABI
import GStreamer

extension MGVideoConsumer {
    /// Wraps a delegate, which the structure holds weakly. The structure's owner calls `destroy` once.
    package init<D: RawDataDelegate>(_ delegate: D, _ pipe: PipeIdentity) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        context = Unmanaged<AnyDelegateBox>.passRetained(DelegateBox(delegate, pipe)).toOpaque()
        identity = UnsafeRawPointer(Unmanaged.passUnretained(delegate).toOpaque())
        is_alive = { AnyDelegateBox.of($0).isAlive ? 1 : 0 }
        start = { _, _, _ in }
        interrupt = { _ in }
        resume = { _ in }
        frame = { context, frame, error in
            Unmanaged<AnyDelegateBox>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.receive(frame!, error) }
        }
        status = { AnyDelegateBox.of($0).statusChanged(isOn: $1 != 0) }
        end = { _, _ in MG_PASS }
        destroy = { Unmanaged<AnyDelegateBox>.fromOpaque($0!).release() }
        storeName(typeName(D.self), in: &name)
    }
}

private class AnyDelegateBox {
    var isAlive: Bool { false }
    func receive(_ frame: UnsafePointer<MGVideoFrame>, _ error: UnsafeMutablePointer<MGError>?) -> Int32 { MG_FAILED }
    func statusChanged(isOn: Bool) {}

    static func of(_ context: UnsafeMutableRawPointer?) -> AnyDelegateBox {
        Unmanaged<AnyDelegateBox>.fromOpaque(context!).takeUnretainedValue()
    }
}

private final class DelegateBox<D: RawDataDelegate>: AnyDelegateBox {
    private weak var delegate: D?
    private let pipe: PipeIdentity

    init(_ delegate: D, _ pipe: PipeIdentity) {
        self.delegate = delegate
        self.pipe = pipe
    }

    override var isAlive: Bool { delegate != nil }

    override func receive(_ source: UnsafePointer<MGVideoFrame>, _ error: UnsafeMutablePointer<MGError>?) -> Int32 {
        guard let delegate else { return MG_GONE }
        return MediaGraphError.status(error, "the delegate") {
            switch source.pointee.kind {
            case MG_NATIVE: try delegate.received(NativeVideoFrame(source), from: pipe)
            case MG_ENCODED:
                guard let unit = EncodedVideoFrame(source) else { throw MediaGraphError.unknownCodec }
                try delegate.received(unit, from: pipe)
            default:
                guard let frame = VideoFrame(source) else { throw MediaGraphError.unknownFormat }
                try delegate.received(frame, from: pipe)
            }
        }
    }

    override func statusChanged(isOn: Bool) { delegate?.statusChanged(isOn: isOn, of: pipe) }
}
