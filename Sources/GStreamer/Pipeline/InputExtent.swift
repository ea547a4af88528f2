import CGStreamer
import Synchronization

/// How far a sink pad's element has read its input, whether it pulls or is pushed to. Any thread may read it.
public final class InputExtent: Sendable {
    private let end = Atomic<UInt64>(0)
    /// The pad's own flag is set only when its element has handled end-of-stream.
    private let hasEnded = Atomic<Bool>(false)

    /// Whether the element has read its input to the end, or tried to read past it. Where the input's size isn't known, as for
    /// a pipe: whether end-of-stream has reached the pad.
    public func hasReachedEnd(at pad: Pad) -> Bool {
        var size: gint64 = 0
        guard gst_pad_peer_query_duration(pad.pad, GST_FORMAT_BYTES, &size) != 0, size > 0 else {
            return hasEnded.load(ordering: .relaxed)
        }
        return end.load(ordering: .relaxed) >= UInt64(size)
    }

    public func reset() {
        end.store(0, ordering: .relaxed)
        hasEnded.store(false, ordering: .relaxed)
    }

    fileprivate func recordEndOfStream() { hasEnded.store(true, ordering: .relaxed) }

    fileprivate func recordBuffer(_ buffer: UnsafeMutablePointer<GstBuffer>) {
        // A buffer without an offset continues where the last one ended.
        let offset = UInt64(buffer.pointee.offset)
        let begin = offset == .max ? end.load(ordering: .relaxed) : offset
        end.store(begin + UInt64(gst_buffer_get_size(buffer)), ordering: .relaxed)
    }

    /// Records a pull request before it is served, because a read past the end returns no buffer.
    fileprivate func recordPull(_ info: GstPadProbeInfo) {
        let (end, overflows) = UInt64(info.offset).addingReportingOverflow(UInt64(info.size))
        self.end.store(overflows ? .max : end, ordering: .relaxed)
    }
}

extension Pad {
    /// Starts to measure how far a sink pad's input is read, until the pad is freed.
    public func measureInput() -> InputExtent {
        let extent = InputExtent()
        addProbe(GST_PAD_PROBE_TYPE_PUSH, GST_PAD_PROBE_TYPE_BUFFER, holding: extent) { _, info, context in
            Unmanaged<InputExtent>.fromOpaque(context!)._withUnsafeGuaranteedRef {
                $0.recordBuffer(gst_pad_probe_info_get_buffer(info))
            }
            return GST_PAD_PROBE_OK
        }
        addProbe(GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, holding: extent) { _, info, context in
            if gst_pad_probe_info_get_event(info)?.pointee.type == GST_EVENT_EOS {
                Unmanaged<InputExtent>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.recordEndOfStream() }
            }
            return GST_PAD_PROBE_OK
        }
        // With PULL, the BLOCK flag makes the probe run before the read. PASS keeps the pad from blocking.
        addProbe(GST_PAD_PROBE_TYPE_PULL, GST_PAD_PROBE_TYPE_BLOCK, holding: extent) { _, info, context in
            Unmanaged<InputExtent>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.recordPull(info!.pointee) }
            return GST_PAD_PROBE_PASS
        }
        return extent
    }
}
