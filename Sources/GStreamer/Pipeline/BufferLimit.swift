import CGStreamer

extension Pad {
    /// Ends the stream at this sink pad after `count` buffers. Call it before data flows.
    ///
    /// EOS follows the last buffer at once, without waiting for another buffer, which may take long in a slow stream.
    /// Upstream gets `GST_FLOW_EOS`.
    ///
    /// - Parameters:
    ///   - willEnd: called once, on the streaming thread, before the last buffer is passed on, with the running time at
    ///     which that buffer ends, if known. It must not stop the pipeline.
    ///   - didEnd: called once, on the streaming thread, after EOS has been sent. It must not stop the pipeline.
    package func endStream(
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

    /// Drops the buffers that begin at this running time or later. Buffers without a timestamp pass.
    package func dropBuffers(from time: ClockTime) {
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

/// The state of `Pad.endStream(afterBuffers:willEnd:didEnd:)`: counts the buffers of a pad, and ends the stream.
private final class BufferLimit {
    // Accessed only in the pad's probe, which runs with the pad's stream lock held.
    private var remaining: UInt64
    private var isPassingLast = false
    /// The timestamp of the previous buffer; `.max` if there is none.
    private var previous = GstClockTime.max
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
        let buffer = info.data.assumingMemoryBound(to: GstBuffer.self)
        if remaining > 1 {
            remaining -= 1
            previous = buffer.pointee.pts
            return GST_PAD_PROBE_OK
        }
        // From here on the probe owns the buffer, because it returns HANDLED.
        info.ABI.abi.flow_ret = GST_FLOW_EOS
        guard remaining == 1 else {
            gst_buffer_unref(buffer)
            return GST_PAD_PROBE_HANDLED
        }
        remaining = 0
        willEnd(Pad.runningTime(of: end(of: buffer.pointee), at: pad))
        isPassingLast = true
        let result = gst_pad_chain(pad, buffer)
        isPassingLast = false
        if result != GST_FLOW_OK { info.ABI.abi.flow_ret = result }
        gst_pad_send_event(pad, gst_event_new_eos())
        didEnd()
        return GST_PAD_PROBE_HANDLED
    }

    /// Returns the timestamp at which a buffer ends. A buffer without a duration is taken to last as long as the
    /// interval since the previous buffer. With a length of zero it would be dropped itself, because buffers that begin
    /// at the end or later are dropped.
    private func end(of buffer: GstBuffer) -> GstClockTime {
        let begin = buffer.pts
        guard begin != .max else { return .max }
        if buffer.duration != .max { return begin + buffer.duration }
        return previous < begin ? begin + (begin - previous) : begin + 1
    }

    /// Sends each buffer of a list to the pad, and so through this probe. A pad without support for lists would split
    /// the list later, and then the probe would count its buffers twice.
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
