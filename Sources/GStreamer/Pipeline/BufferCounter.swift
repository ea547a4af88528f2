import CGStreamer
import Synchronization

/// Counts the buffers that come into a sink pad, each of a list by itself. Any thread may read it.
public final class BufferCounter: Sendable {
    private let counted = Atomic<UInt64>(0)

    /// Since the pad's element was made, or since `reset`.
    public var count: UInt64 { counted.load(ordering: .relaxed) }

    public func reset() { counted.store(0, ordering: .relaxed) }

    fileprivate func add(_ count: UInt64) { counted.wrappingAdd(count, ordering: .relaxed) }
}

extension Pad {
    /// Counts what comes into this sink pad from now on, before its element has it, for as long as the pad lives.
    public func countBuffers() -> BufferCounter {
        let counter = BufferCounter()
        let types = GST_PAD_PROBE_TYPE_BUFFER.rawValue | GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue
        gst_pad_add_probe(
            pad, GstPadProbeType(rawValue: types),
            { _, info, context in
                let isList = info!.pointee.type.rawValue & GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue != 0
                let count = isList ? UInt64(gst_buffer_list_length(OpaquePointer(info!.pointee.data))) : 1
                Unmanaged<BufferCounter>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.add(count) }
                return GST_PAD_PROBE_OK
            }, Unmanaged.passRetained(counter).toOpaque(),
            { Unmanaged<BufferCounter>.fromOpaque($0!).release() })
        return counter
    }

    /// From now on buffers end at this source pad, and its element goes on as if they had been taken.
    public func discardBuffers() {
        let types = GST_PAD_PROBE_TYPE_BUFFER.rawValue | GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue
        gst_pad_add_probe(pad, GstPadProbeType(rawValue: types), { _, _, _ in GST_PAD_PROBE_DROP }, nil, nil)
    }
}
