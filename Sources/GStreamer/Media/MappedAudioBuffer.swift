import CGStreamer

/// A buffer of interleaved audio that is mapped for the length of a call: samples as spans that the compiler keeps from
/// escaping.
///
/// Not copyable and not escapable: it can be neither kept nor handed to another thread.
public struct MappedAudioBuffer: ~Copyable, ~Escapable {
    @usableFromInline package let buffer: UnsafeMutablePointer<GstAudioBuffer>

    @_lifetime(immortal)
    @inlinable
    package init(_ buffer: UnsafeMutablePointer<GstAudioBuffer>) { self.buffer = buffer }

    public var info: AudioInfo { AudioInfo(buffer.pointee.info) }
    /// Samples per second of each channel.
    @inlinable public var rate: Int { Int(buffer.pointee.info.rate) }
    @inlinable public var channels: Int { Int(buffer.pointee.info.channels) }
    /// Samples of each channel.
    @inlinable public var frameCount: Int { Int(buffer.pointee.n_samples) }
    /// Bytes of all samples.
    @inlinable public var byteCount: Int { frameCount * Int(buffer.pointee.info.bpf) }

    @inlinable
    func elements<Sample>(_ type: Sample.Type) -> UnsafeMutableBufferPointer<Sample> {
        let count = frameCount * channels
        precondition(count * MemoryLayout<Sample>.stride <= byteCount, "samples wider than the buffer's")
        // The memory is GStreamer's, aligned to 8 bytes or more, and every bit pattern is a sample. An empty buffer has none.
        return UnsafeMutableBufferPointer(
            start: buffer.pointee.planes[0]?.assumingMemoryBound(to: Sample.self), count: count)
    }

    /// The samples of all channels, one of each channel after the other.
    @_lifetime(borrow self)
    @inlinable
    public func samples<Sample: BitwiseCopyable>(as type: Sample.Type) -> Span<Sample> {
        let span = unsafe Span<Sample>(_unsafeElements: UnsafeBufferPointer(elements(type)))
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    /// The same for writing; the buffer must have been mapped so.
    @_lifetime(&self)
    @inlinable
    public mutating func mutableSamples<Sample: BitwiseCopyable>(as type: Sample.Type) -> MutableSpan<Sample> {
        let span = unsafe MutableSpan<Sample>(_unsafeElements: elements(type))
        return unsafe _overrideLifetime(span, mutating: &self)
    }
}

extension BufferAccess {
    /// Maps the buffer as interleaved audio while `body` runs. `nil` when it can't be mapped, or has planes.
    @inlinable
    public func withAudioBuffer<R>(
        _ info: AudioInfo, _ mode: MapMode, _ body: (inout MappedAudioBuffer) throws -> R
    ) rethrows -> R? {
        // GStreamer fills the structure in, all 400 bytes of it: no need to clear it first.
        return try withUnsafeTemporaryAllocation(of: GstAudioBuffer.self, capacity: 1) { memory in
            let pointer = memory.baseAddress!
            let isMapped = withUnsafePointer(to: info.raw) { layout in
                gst_audio_buffer_map(pointer, layout, self.raw, mode.raw)
            }
            guard isMapped != 0 else { return nil }
            defer { gst_audio_buffer_unmap(pointer) }
            guard pointer.pointee.info.layout == GST_AUDIO_LAYOUT_INTERLEAVED else { return nil }
            var buffer = MappedAudioBuffer(pointer)
            return try body(&buffer)
        }
    }
}
