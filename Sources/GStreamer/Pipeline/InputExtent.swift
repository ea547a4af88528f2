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

    fileprivate func ends() { hasEnded.store(true, ordering: .relaxed) }

    fileprivate func passes(_ buffer: UnsafeMutablePointer<GstBuffer>) {
        // A buffer without an offset continues where the last one ended.
        let offset = UInt64(buffer.pointee.offset)
        let begin = offset == .max ? end.load(ordering: .relaxed) : offset
        end.store(begin + UInt64(gst_buffer_get_size(buffer)), ordering: .relaxed)
    }

    /// Before it is read: what lies beyond the end of the input gives no buffer.
    fileprivate func isAskedFor(_ info: GstPadProbeInfo) {
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
                $0.passes(gst_pad_probe_info_get_buffer(info))
            }
            return GST_PAD_PROBE_OK
        }
        addProbe(GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, holding: extent) { _, info, context in
            if gst_pad_probe_info_get_event(info)?.pointee.type == GST_EVENT_EOS {
                Unmanaged<InputExtent>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.ends() }
            }
            return GST_PAD_PROBE_OK
        }
        // Nothing is blocked: this is how a probe comes before the reading.
        addProbe(GST_PAD_PROBE_TYPE_PULL, GST_PAD_PROBE_TYPE_BLOCK, holding: extent) { _, info, context in
            Unmanaged<InputExtent>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.isAskedFor(info!.pointee) }
            return GST_PAD_PROBE_PASS
        }
        return extent
    }
}
