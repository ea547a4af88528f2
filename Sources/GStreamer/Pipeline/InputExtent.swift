import CGStreamer
import Synchronization

/// Measures how far an element has read the input of a sink pad, in pull or push mode. Thread-safe.
package final class InputExtent: Sendable {
    private let end = Atomic<UInt64>(0)
    /// Set when EOS reaches the pad; the pad's own flag is set only after its element has handled the event.
    private let hasEnded = Atomic<Bool>(false)

    /// Returns whether the element has read its input to the end, or tried to read past it. If the size of the input is
    /// unknown, as for a pipe: whether EOS has reached the pad.
    package func hasReachedEnd(at pad: Pad) -> Bool {
        var size: gint64 = 0
        guard gst_pad_peer_query_duration(pad.pad, GST_FORMAT_BYTES, &size) != 0, size > 0 else {
            return hasEnded.load(ordering: .relaxed)
        }
        return end.load(ordering: .relaxed) >= UInt64(size)
    }

    /// Starts over.
    package func reset() {
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
    /// Starts measuring how far the element reads the input of this sink pad. Measuring ends when the pad is freed.
    package func measureInput() -> InputExtent {
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
