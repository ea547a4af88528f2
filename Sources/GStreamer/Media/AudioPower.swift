import CGStreamer

extension AudioInfo {
    /// Returns the mean square of all samples of a buffer in this format, where a sample of full scale is ±1: 0.5 for a sine
    /// of full scale. The channels are measured together. Returns `nil` if the buffer is empty or can't be mapped.
    ///
    /// Every raw format and layout is measured: GStreamer unpacks the samples to 32-bit integers or doubles.
    package func meanSquare(of buffer: BufferAccess) -> Double? {
        // Without this meta, planes can't be found, and GStreamer would complain in GLib's log.
        guard isInterleaved || gst_buffer_get_meta(buffer.raw, gst_audio_meta_api_get_type()) != nil else { return nil }
        return withUnsafeTemporaryAllocation(of: GstAudioBuffer.self, capacity: 1) { memory in
            let mapped = memory.baseAddress!
            let isMapped = withUnsafePointer(to: raw) { gst_audio_buffer_map(mapped, $0, buffer.raw, GST_MAP_READ) }
            guard isMapped != 0 else { return nil }
            defer { gst_audio_buffer_unmap(mapped) }
            let count = Int(mapped.pointee.n_samples) * (isInterleaved ? channels : 1)
            let planes = Int(mapped.pointee.n_planes)
            guard count > 0, planes > 0 else { return nil }
            let sum = (0..<planes).reduce(0.0) { $0 + sumOfSquares(mapped.pointee.planes[$1]!, count) }
            return sum / Double(count * planes)
        }
    }

    private func sumOfSquares(_ samples: gpointer, _ count: Int) -> Double {
        let format = raw.finfo.pointee
        let width = Int(format.width) / 8
        // Few enough samples for the stack.
        let length = 256
        return withUnsafeTemporaryAllocation(of: Double.self, capacity: length) { unpacked in
            let memory = unpacked.baseAddress!
            var sum = 0.0
            for start in stride(from: 0, to: count, by: length) {
                let part = min(length, count - start)
                // Without this flag, silence of 8 bits unpacks to a value above zero: its bits are repeated.
                format.unpack_func(
                    raw.finfo, GST_AUDIO_PACK_FLAG_TRUNCATE_RANGE, memory, samples + start * width, gint(part))
                if format.unpack_format == AudioInfo.unpackedInteger {
                    memory.withMemoryRebound(to: Int32.self, capacity: part) { values in
                        for index in 0..<part {
                            let value = Double(values[index]) / 2_147_483_648
                            sum += value * value
                        }
                    }
                } else {
                    for index in 0..<part { sum += unpacked[index] * unpacked[index] }
                }
            }
            return sum
        }
    }

    private static var unpackedInteger: GstAudioFormat {
        #if _endian(little)
            GST_AUDIO_FORMAT_S32LE
        #else
            GST_AUDIO_FORMAT_S32BE
        #endif
    }
}
