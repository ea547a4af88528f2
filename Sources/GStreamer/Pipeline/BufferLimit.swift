import CGStreamer

extension Pad {
    /// Lets `count` buffers in, then end-of-stream, and nothing after that. Set it on a sink pad before data flows.
    ///
    /// End-of-stream follows the last buffer at once: a slow stream needn't send one more first. Upstream is told
    /// that it is over (`GST_FLOW_EOS`).
    ///
    /// Both closures run once, on the streaming thread, so they must not stop the pipeline. `willEnd` runs before the last
    /// buffer is passed on; it receives the running time at which that buffer ends, if known. `didEnd` runs after
    /// end-of-stream has been sent.
    public func endStream(
        afterBuffers count: UInt64, willEnd: @escaping @Sendable (ClockTime?) -> Void,
        didEnd: @escaping @Sendable () -> Void
    ) {
        addProbe(
            GST_PAD_PROBE_TYPE_BUFFER, GST_PAD_PROBE_TYPE_BUFFER_LIST,
            holding: BufferLimit(count, willEnd: willEnd, didEnd: didEnd)
        ) {
            pad, info, context in
            Unmanaged<BufferLimit>.fromOpaque(context!).takeUnretainedValue().probe(pad!, &info!.pointee)
        }
    }

    /// Drops the buffers that begin at this running time or later; those without a time pass.
    public func dropBuffers(from time: ClockTime) {
        let limit = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
        limit.initialize(to: time.nanoseconds)
        gst_pad_add_probe(
            pad, GST_PAD_PROBE_TYPE_BUFFER,
            { pad, info, limit in
                let buffer = info!.pointee.data.assumingMemoryBound(to: GstBuffer.self)
                let limit = limit!.assumingMemoryBound(to: UInt64.self).pointee
                guard let begin = Pad.runningTime(of: buffer.pointee.pts, at: pad!), begin.nanoseconds >= limit else {
                    return GST_PAD_PROBE_OK
                }
                return GST_PAD_PROBE_DROP
            }, limit, { $0!.assumingMemoryBound(to: UInt64.self).deallocate() })
    }

    fileprivate static func runningTime(of timestamp: GstClockTime, at pad: UnsafeMutablePointer<GstPad>) -> ClockTime?
    {
        Segment(passing: pad)?.runningTime(of: ClockTime(raw: timestamp))
    }
}

/// Counts the buffers of one pad.
private final class BufferLimit {
    // Touched only in the pad's probe, which runs under the pad's stream lock.
    private var remaining: UInt64
    private var isPassingLast = false
    private let willEnd: @Sendable (ClockTime?) -> Void
    private let didEnd: @Sendable () -> Void

    init(_ count: UInt64, willEnd: @escaping @Sendable (ClockTime?) -> Void, didEnd: @escaping @Sendable () -> Void) {
        remaining = count
        self.willEnd = willEnd
        self.didEnd = didEnd
    }

    func probe(_ pad: UnsafeMutablePointer<GstPad>, _ info: inout GstPadProbeInfo) -> GstPadProbeReturn {
        if isPassingLast { return GST_PAD_PROBE_OK }
        if info.type.rawValue & GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue != 0 { return splitList(pad, &info) }
        if remaining > 1 {
            remaining -= 1
            return GST_PAD_PROBE_OK
        }
        let buffer = info.data.assumingMemoryBound(to: GstBuffer.self)
        // From here on the buffer is this probe's to give away.
        info.ABI.abi.flow_ret = GST_FLOW_EOS
        guard remaining == 1 else {
            gst_buffer_unref(buffer)
            return GST_PAD_PROBE_HANDLED
        }
        remaining = 0
        let (begin, duration) = (buffer.pointee.pts, buffer.pointee.duration)
        let end = begin == .max || duration == .max ? begin : begin + duration
        willEnd(Pad.runningTime(of: end, at: pad))
        isPassingLast = true
        let result = gst_pad_chain(pad, buffer)
        isPassingLast = false
        if result != GST_FLOW_OK { info.ABI.abi.flow_ret = result }
        gst_pad_send_event(pad, gst_event_new_eos())
        didEnd()
        return GST_PAD_PROBE_HANDLED
    }

    /// Each buffer by itself, through this probe again: a pad that takes no lists would split it later, and count twice.
    private func splitList(
        _ pad: UnsafeMutablePointer<GstPad>, _ info: inout GstPadProbeInfo
    ) -> GstPadProbeReturn {
        let list = OpaquePointer(info.data)
        var result = GST_FLOW_OK
        for index in 0..<gst_buffer_list_length(list) where result == GST_FLOW_OK {
            result = gst_pad_chain(pad, gst_buffer_ref(gst_buffer_list_get(list, index)))
        }
        gst_buffer_list_unref(list)
        info.ABI.abi.flow_ret = result
        return GST_PAD_PROBE_HANDLED
    }
}
