import CGStreamer
import Synchronization

/// How far a sink pad's element has read its input, whether it pulls or is pushed to. Any thread may read it.
public final class InputExtent: Sendable {
    private let end = Atomic<UInt64>(0)

    /// What it read last was the end of its input, rather than that nobody wanted more. False where the size isn't known.
    public func isWhole(at pad: Pad) -> Bool {
        var size: gint64 = 0
        guard gst_pad_peer_query_duration(pad.pad, GST_FORMAT_BYTES, &size) != 0, size > 0 else { return false }
        return end.load(ordering: .relaxed) >= UInt64(size)
    }

    public func reset() { end.store(0, ordering: .relaxed) }

    fileprivate func passes(_ info: GstPadProbeInfo) {
        let buffer = info.data.assumingMemoryBound(to: GstBuffer.self)
        let isPulled = info.type.rawValue & GST_PAD_PROBE_TYPE_PULL.rawValue != 0
        let begin = isPulled ? UInt64(info.offset) : UInt64(buffer.pointee.offset)
        // A stream without offsets counts from what has come before.
        let known = begin == .max ? end.load(ordering: .relaxed) : begin
        end.store(known + UInt64(gst_buffer_get_size(buffer)), ordering: .relaxed)
    }
}

extension Pad {
    /// Starts to measure how far a sink pad's input is read, until the pad is freed.
    public func measureInput() -> InputExtent {
        let extent = InputExtent()
        gst_pad_add_probe(
            pad, GST_PAD_PROBE_TYPE_BUFFER,
            { _, info, context in
                Unmanaged<InputExtent>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.passes(info!.pointee) }
                return GST_PAD_PROBE_OK
            }, Unmanaged.passRetained(extent).toOpaque(), { Unmanaged<InputExtent>.fromOpaque($0!).release() })
        return extent
    }
}
