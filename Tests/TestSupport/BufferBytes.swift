import CGStreamer
import GStreamer

extension BufferAccess {
    /// Puts bytes into a buffer that nobody else has.
    public func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        gst_buffer_fill(raw, gsize(offset), bytes.baseAddress, gsize(bytes.count))
    }

    /// Its bytes as samples of 16 bits.
    public var samples: [Int16] {
        var result = [Int16](repeating: 0, count: size / 2)
        gst_buffer_extract(raw, 0, &result, gsize(result.count * 2))
        return result
    }

    /// Some of its bytes; fewer where it has no more.
    public func bytes(_ range: Range<Int>) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: range.count)
        let count = gst_buffer_extract(raw, gsize(range.lowerBound), &result, gsize(range.count))
        return Array(result.prefix(Int(count)))
    }
}
