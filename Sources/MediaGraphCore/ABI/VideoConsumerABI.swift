import CMediaGraphABI
import GStreamer

extension MGVideoConsumer {
    /// The memory mode that the consumer needs; `nil` if it takes both.
    package var requiredMemoryMode: MemoryMode? { memory_mode == 0 ? nil : MemoryMode(rawValue: memory_mode - 1) }

    /// Wraps a Swift handler. The structure's owner calls `destroy` once.
    package init<C: VideoConsumer>(_ consumer: consuming sending C, name: String, memoryMode: MemoryMode? = nil) {
        self.init()
        abi_version = MEDIAGRAPH_ABI_VERSION
        context = Unmanaged.passRetained(ConsumerBox(consumer)).toOpaque()
        start = { _, _, _ in }
        interrupt = { _ in }
        resume = { _ in }
        frame = { context, frame, error in
            Unmanaged<AnyConsumerBox>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.receive(frame!, error) }
        }
        status = { context, on in
            Unmanaged<AnyConsumerBox>.fromOpaque(context!).takeUnretainedValue().statusChanged(isOn: on != 0)
        }
        end = { context, error in
            Unmanaged<AnyConsumerBox>.fromOpaque(context!).takeUnretainedValue().finish(error)
        }
        remark = { context in
            Unmanaged<AnyConsumerBox>.fromOpaque(context!).takeUnretainedValue().remark.flatMap { g_strdup($0) }
        }
        destroy = { Unmanaged<AnyConsumerBox>.fromOpaque($0!).release() }
        storeName(C.formats.map(\.gstreamerName).joined(separator: ","), in: &formats)
        storeName(name, in: &self.name)
        memory_mode = memoryMode.map { $0.rawValue + 1 } ?? 0
    }
}

/// The context behind the C function pointers. Each frame costs one virtual call to the handler's own type and no
/// allocation.
private class AnyConsumerBox {
    func receive(_ frame: UnsafePointer<MGVideoFrame>, _ error: UnsafeMutablePointer<MGError>?) -> Int32 { MG_FAILED }
    func statusChanged(isOn: Bool) {}
    func finish(_ error: UnsafeMutablePointer<MGError>?) -> Int32 { MG_FAILED }
    var remark: String? { nil }
}

private final class ConsumerBox<C: VideoConsumer>: AnyConsumerBox {
    /// Behind a pointer, which avoids dynamic exclusivity checks: 117 instructions a frame. They could find nothing:
    /// the pipe makes one call at a time.
    private let consumer: UnsafeMutablePointer<C>

    init(_ consumer: consuming C) {
        self.consumer = .allocate(capacity: 1)
        self.consumer.initialize(to: consumer)
    }

    deinit {
        consumer.deinitialize(count: 1)
        consumer.deallocate()
    }

    override func receive(_ source: UnsafePointer<MGVideoFrame>, _ error: UnsafeMutablePointer<MGError>?) -> Int32 {
        do {
            switch source.pointee.kind {
            case MG_NATIVE: try consumer.pointee.receive(NativeVideoFrame(source))
            case MG_ENCODED:
                guard let unit = EncodedVideoFrame(source) else { throw MediaGraphError.unknownCodec }
                try consumer.pointee.receive(unit)
            default:
                guard let frame = VideoFrame(source) else { throw MediaGraphError.unknownFormat }
                try consumer.pointee.receive(frame)
            }
            return MG_PASS
        } catch let thrown {
            MediaGraphError.wrapping(thrown, "the handler").store(in: error)
            return MG_FAILED
        }
    }

    override var remark: String? { consumer.pointee.remark }

    override func statusChanged(isOn: Bool) { consumer.pointee.statusChanged(isOn: isOn) }

    override func finish(_ error: UnsafeMutablePointer<MGError>?) -> Int32 {
        do {
            try consumer.pointee.finish()
            return MG_PASS
        } catch let thrown {
            MediaGraphError.wrapping(thrown, "the handler").store(in: error)
            return MG_FAILED
        }
    }
}
