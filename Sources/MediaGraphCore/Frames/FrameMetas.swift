import GStreamer

/// What a buffer's metas say about its frame.
@usableFromInline
package struct FrameMetas {
    /// The orientation of the picture in memory, without the flip that the mirror mode asks for.
    @usableFromInline package var orientation: VideoOrientation
    /// The mirror mode's flip.
    @usableFromInline package var mirror = Flip.none
    /// The wall-clock time of capture in Unix nanoseconds; 0 if unknown.
    @usableFromInline package var captureTime: UInt64 = 0

    /// Reads the metas of a buffer in a stream with these tags.
    @inlinable @inline(__always)
    package init(of buffer: BufferAccess, _ tagged: TaggedOrientation) {
        orientation = tagged.pending
        if buffer.hasMetas { read(buffer, tagged) }
    }

    @usableFromInline @inline(never)
    mutating func read(_ buffer: BufferAccess, _ tagged: TaggedOrientation) {
        orientation = tagged.orientation(of: buffer)
        mirror = Flip(of: buffer)
        captureTime = buffer.captureUnixNanoseconds ?? 0
    }
}
