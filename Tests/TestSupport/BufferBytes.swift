import CGStreamer
import GStreamer

extension BufferAccess {
    /// Writes bytes into a buffer that has no other owner.
    public func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        gst_buffer_fill(raw, gsize(offset), bytes.baseAddress, gsize(bytes.count))
    }

    /// The buffer's bytes as 16-bit samples.
    public var samples: [Int16] {
        var result = [Int16](repeating: 0, count: size / 2)
        gst_buffer_extract(raw, 0, &result, gsize(result.count * 2))
        return result
    }

    /// Returns a range of the buffer's bytes; fewer if the buffer is shorter.
    public func bytes(_ range: Range<Int>) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: range.count)
        let count = gst_buffer_extract(raw, gsize(range.lowerBound), &result, gsize(range.count))
        return Array(result.prefix(Int(count)))
    }
}
