import CGStreamer

/// A buffer of interleaved audio that is mapped during a call. The samples are spans, which the compiler doesn't allow
/// to escape.
///
/// The type is neither copyable nor escapable, so a value can't be kept or passed to another thread.
public struct MappedAudioBuffer: ~Copyable, ~Escapable {
    @usableFromInline package let buffer: UnsafeMutablePointer<GstAudioBuffer>

    @_lifetime(immortal)
    @inlinable
    package init(_ buffer: UnsafeMutablePointer<GstAudioBuffer>) { self.buffer = buffer }

    /// The audio format.
    public var info: AudioInfo { AudioInfo(buffer.pointee.info) }
    /// The samples per second of each channel.
    @inlinable public var rate: Int { Int(buffer.pointee.info.rate) }
    /// The number of channels.
    @inlinable public var channels: Int { Int(buffer.pointee.info.channels) }
    /// The number of samples per channel.
    @inlinable public var frameCount: Int { Int(buffer.pointee.n_samples) }
    /// The bytes of all samples.
    @inlinable public var byteCount: Int { frameCount * Int(buffer.pointee.info.bpf) }

    @inlinable
    func elements<Sample>(_ type: Sample.Type) -> UnsafeMutableBufferPointer<Sample> {
        let count = frameCount * channels
        precondition(count * MemoryLayout<Sample>.stride <= byteCount, "samples wider than the buffer's")
        // GStreamer aligns the memory to 8 bytes or more, and every bit pattern is a valid sample. An empty buffer has
        // no memory.
        return UnsafeMutableBufferPointer(
            start: buffer.pointee.planes[0]?.assumingMemoryBound(to: Sample.self), count: count)
    }

    /// Returns the interleaved samples of all channels. `Sample` must not be wider than the format's samples.
    @_lifetime(borrow self)
    @inlinable
    public func samples<Sample: BitwiseCopyable>(as type: Sample.Type) -> Span<Sample> {
        let span = unsafe Span<Sample>(_unsafeElements: UnsafeBufferPointer(elements(type)))
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    /// Returns the interleaved samples of all channels for writing. The buffer must be mapped with `readWrite`.
    @_lifetime(&self)
    @inlinable
    public mutating func mutableSamples<Sample: BitwiseCopyable>(as type: Sample.Type) -> MutableSpan<Sample> {
        let span = unsafe MutableSpan<Sample>(_unsafeElements: elements(type))
        return unsafe _overrideLifetime(span, mutating: &self)
    }
}

extension BufferAccess {
    /// Calls `body` with the buffer mapped as interleaved audio. Returns `nil` if the buffer can't be mapped, or if its
    /// audio isn't interleaved. For `readWrite`, the buffer must be writable.
    @inlinable
    public func withAudioBuffer<R>(
        _ info: AudioInfo, _ mode: MapMode, _ body: (inout MappedAudioBuffer) throws -> R
    ) rethrows -> R? {
        // GStreamer fills the whole structure of 400 bytes, so it need not be cleared first.
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
