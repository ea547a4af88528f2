import CGStreamer
import Foundation

/// A reference to a media buffer (`GstBuffer`), released at the end of its scope. Creating the value allocates no
/// Swift object.
///
/// `@unchecked Sendable`: reference counts are atomic, and a buffer is written only through a `BufferAccess`, which is
/// valid only during a call on the streaming thread.
public struct Buffer: ~Copyable, @unchecked Sendable {
    package let raw: UnsafeMutablePointer<GstBuffer>

    package init(taking raw: UnsafeMutablePointer<GstBuffer>) { self.raw = raw }
    package init(retaining raw: UnsafeMutablePointer<GstBuffer>) { self.raw = gst_buffer_ref(raw) }

    /// Allocates a buffer of `size` bytes, which aren't initialized; `nil` if there is no memory.
    public init?(size: Int) {
        // Before gst_init, GStreamer has no allocator, and making a buffer crashes.
        GStreamerRuntime.initialize()
        guard let raw = gst_buffer_new_allocate(nil, gsize(size), nil) else { return nil }
        self.raw = raw
    }

    /// Allocates a buffer with a copy of `bytes`; `nil` if there is no memory.
    public init?(copying bytes: UnsafeRawBufferPointer) {
        self.init(size: bytes.count)
        gst_buffer_fill(raw, 0, bytes.baseAddress, gsize(bytes.count))
    }

    /// Allocates a buffer of `count` bytes that are all `value`; `nil` if there is no memory.
    public init?(filledWith value: UInt8, count: Int) {
        self.init(size: count)
        gst_buffer_memset(raw, 0, value, gsize(count))
    }

    /// Creates a buffer that uses the caller's memory, without a copy. The memory must stay valid and unchanged until
    /// GStreamer calls `release` with `context`, on any thread.
    public init(
        wrapping memory: UnsafeMutableRawBufferPointer, context: UnsafeMutableRawPointer?,
        release: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?
    ) {
        GStreamerRuntime.initialize()
        raw = gst_buffer_new_wrapped_full(
            GstMemoryFlags(rawValue: 0), memory.baseAddress, gsize(memory.count), 0, gsize(memory.count), context,
            release)
    }

    deinit { gst_buffer_unref(raw) }

    /// Transfers the reference to C code.
    package consuming func take() -> UnsafeMutablePointer<GstBuffer> {
        let raw = self.raw
        discard self
        return raw
    }

    /// Another reference to the same buffer.
    public var retained: Buffer { Buffer(retaining: raw) }
    /// The buffer's properties and bytes; valid only while this reference exists.
    public var access: BufferAccess { BufferAccess(raw) }

    /// Returns a buffer whose timestamps and flags may be written: the same buffer if this is its only reference,
    /// otherwise a copy that shares the bytes.
    public consuming func writable() -> Buffer {
        let mini = UnsafeMutableRawPointer(take()).assumingMemoryBound(to: GstMiniObject.self)
        return Buffer(
            taking: UnsafeMutableRawPointer(gst_mini_object_make_writable(mini)!)
                .assumingMemoryBound(to: GstBuffer.self))
    }
}

/// Access to a buffer without a reference to it. Valid only during the call that it was passed to, or while the
/// `Buffer` that it comes from exists.
public struct BufferAccess {
    @usableFromInline package let raw: UnsafeMutablePointer<GstBuffer>

    @inlinable
    package init(_ raw: UnsafeMutablePointer<GstBuffer>) { self.raw = raw }

    /// The presentation timestamp, in the stream's segment; `nil` if the buffer has none. Write it only if the buffer
    /// is writable.
    public var presentationTimestamp: ClockTime? {
        @inlinable get { ClockTime(raw: raw.pointee.pts) }
        @inlinable nonmutating set { raw.pointee.pts = newValue.raw }
    }

    /// The duration; `nil` if it is unknown. Write it only if the buffer is writable.
    public var duration: Duration? {
        get { Duration(raw: raw.pointee.duration) }
        nonmutating set { raw.pointee.duration = newValue.raw }
    }

    /// The duration in nanoseconds; `nil` if it is unknown. Write it only if the buffer is writable.
    package var durationNanoseconds: UInt64? {
        @inlinable get { raw.pointee.duration == .max ? nil : UInt64(raw.pointee.duration) }
        @inlinable nonmutating set { raw.pointee.duration = GstClockTime(newValue ?? .max) }
    }

    /// Whether the buffer doesn't continue the one before (`GST_BUFFER_FLAG_DISCONT`).
    public var isDiscontinuous: Bool { raw.pointee.mini_object.flags & GST_BUFFER_FLAG_DISCONT.rawValue != 0 }

    /// Clears the flags for discontinuities, gaps and resynchronization.
    func clearContinuityFlags() {
        raw.pointee.mini_object.flags &=
            ~(GST_BUFFER_FLAG_DISCONT.rawValue | GST_BUFFER_FLAG_GAP.rawValue
            | GST_BUFFER_FLAG_RESYNC.rawValue)
    }

    /// Sets the flag `GST_BUFFER_FLAG_DISCONT`. The buffer must be writable.
    public func markDiscontinuous() { raw.pointee.mini_object.flags |= GST_BUFFER_FLAG_DISCONT.rawValue }

    /// The buffer's size in bytes.
    public var size: Int { Int(gst_buffer_get_size(raw)) }

    /// Reduces the buffer to the bytes from `start` up to, but not including, `end`, without a copy. The default for
    /// `end` is the buffer's size. The buffer must be writable.
    public func trim(from start: Int = 0, to end: Int? = nil) {
        gst_buffer_resize(raw, gssize(start), gssize((end ?? size) - start))
    }

    /// The flags that describe the content, such as those for key frames, gaps and interlacing. They apply to a copy in
    /// any memory as well, even in another process. Flags about the buffer's own memory are left out. Write them only if
    /// the buffer is writable.
    public var contentFlags: UInt32 {
        get { raw.pointee.mini_object.flags & Self.contentMask }
        nonmutating set {
            raw.pointee.mini_object.flags =
                raw.pointee.mini_object.flags & ~Self.contentMask | newValue & Self.contentMask
        }
    }

    /// The bit in `contentFlags` for a discontinuity (`GST_BUFFER_FLAG_DISCONT`): data before this buffer is missing.
    public static let discontinuous = GST_BUFFER_FLAG_DISCONT.rawValue

    private static let contentMask: UInt32 = {
        let flags = [
            GST_BUFFER_FLAG_LIVE, GST_BUFFER_FLAG_DECODE_ONLY, GST_BUFFER_FLAG_DISCONT, GST_BUFFER_FLAG_RESYNC,
            GST_BUFFER_FLAG_CORRUPTED, GST_BUFFER_FLAG_MARKER, GST_BUFFER_FLAG_HEADER, GST_BUFFER_FLAG_GAP,
            GST_BUFFER_FLAG_DROPPABLE, GST_BUFFER_FLAG_DELTA_UNIT, GST_BUFFER_FLAG_NON_DROPPABLE,
        ]
        // The flags from GST_BUFFER_FLAG_LAST on are defined per media type.
        return flags.reduce(~(GST_BUFFER_FLAG_LAST.rawValue - 1)) { $0 | $1.rawValue }
    }()

    /// Whether the buffer fills a gap with silence or an empty picture that nobody sent (`GST_BUFFER_FLAG_GAP`). Write
    /// it only if the buffer is writable.
    public var isGap: Bool {
        get { raw.pointee.mini_object.flags & GST_BUFFER_FLAG_GAP.rawValue != 0 }
        nonmutating set {
            if newValue {
                raw.pointee.mini_object.flags |= GST_BUFFER_FLAG_GAP.rawValue
            } else {
                raw.pointee.mini_object.flags &= ~GST_BUFFER_FLAG_GAP.rawValue
            }
        }
    }

    /// Appends bytes of another buffer, without copying them. Call it only if this buffer is writable.
    package func append(_ range: Range<Int>, of other: BufferAccess) {
        let part = gst_buffer_copy_region(
            other.raw, GST_BUFFER_COPY_MEMORY, gsize(range.lowerBound), gsize(range.count))
        gst_buffer_append(raw, part)
    }

    /// A new reference to the buffer.
    public var retained: Buffer { Buffer(retaining: raw) }

    /// A copy of the buffer and its bytes, which holds nothing of the original. The CPU must be able to read the buffer.
    public var deepCopy: Buffer {
        let copy = gst_buffer_copy_deep(raw)!
        // The copy of an alias would hold the buffer whose memory the alias shares, and which it no longer needs.
        while let parent = gst_buffer_get_meta(copy, gst_parent_buffer_meta_api_get_type()) {
            gst_buffer_remove_meta(copy, parent)
        }
        return Buffer(taking: copy)
    }

    /// A copy that shares the bytes but has its own timestamps and flags.
    public var shallowCopy: Buffer { Buffer(taking: gst_buffer_copy(raw)) }

    /// A copy that shares the bytes and also holds this buffer, which returns to its pool only when the copy is
    /// released.
    public var alias: Buffer {
        let alias = shallowCopy
        gst_buffer_add_parent_buffer_meta(alias.raw, raw)
        return alias
    }

    /// The pool that the buffer returns to; for an alias, the pool of the buffer whose memory it shares. `nil` if there
    /// is none.
    package var pool: UnsafeMutablePointer<GstBufferPool>? {
        if let pool = raw.pointee.pool { return pool }
        guard let meta = gst_buffer_get_meta(raw, gst_parent_buffer_meta_api_get_type()) else { return nil }
        return UnsafeMutableRawPointer(meta).assumingMemoryBound(to: GstParentBufferMeta.self)
            .pointee.buffer.pointee.pool
    }

    /// Whether the buffer has any meta. This is cheaper than looking up several metas that most buffers don't have.
    @inlinable
    package var hasMetas: Bool {
        var position: gpointer?
        return gst_buffer_iterate_meta(raw, &position) != nil
    }

    /// The wall-clock time of capture (`GstReferenceTimestampMeta` with the caps `timestamp/x-unix`); `nil` if the
    /// buffer has none. The property computes the date from the buffer's nanoseconds each time that it is read.
    public var captureTime: Date? { captureUnixNanoseconds.map(Date.init(unixNanoseconds:)) }

    /// Sets the wall-clock time of capture. The buffer must be writable.
    public func setCaptureTime(_ time: Date) { setCaptureTime(unixNanoseconds: time.unixNanoseconds) }

    /// The wall-clock time of capture in nanoseconds since 1970 (UTC); `nil` if the buffer has none.
    @usableFromInline
    package var captureUnixNanoseconds: UInt64? {
        guard let meta = gst_buffer_get_reference_timestamp_meta(raw, ReferenceClock.unix.caps) else { return nil }
        return UInt64(meta.pointee.timestamp)
    }

    /// Sets the wall-clock time of capture, in nanoseconds since 1970 (UTC). The buffer must be writable.
    package func setCaptureTime(unixNanoseconds: UInt64) {
        let time = GstClockTime(unixNanoseconds)
        if let meta = gst_buffer_get_reference_timestamp_meta(raw, ReferenceClock.unix.caps) {
            meta.pointee.timestamp = time
        } else {
            gst_buffer_add_reference_timestamp_meta(raw, ReferenceClock.unix.caps, time, .max)
        }
    }
}

extension Buffer {
    /// Returns the buffer with a wall-clock time of capture: its own, or the current time if it has none.
    ///
    /// If another reference to the buffer exists, the result is an alias, which copies bytes only of memory that can't
    /// be shared (`GST_MEMORY_FLAG_NO_SHARE`).
    package consuming func withCaptureTime() -> Buffer {
        guard !access.hasMetas || access.captureUnixNanoseconds == nil else { return self }
        guard gst_mini_object_is_writable(UnsafeMutableRawPointer(raw).assumingMemoryBound(to: GstMiniObject.self)) != 0
        else {
            let alias = access.alias
            alias.access.setCaptureTime(unixNanoseconds: wallClockNanoseconds())
            return alias
        }
        access.setCaptureTime(unixNanoseconds: wallClockNanoseconds())
        return self
    }
}

/// Gives each buffer of a list a wall-clock time of capture, as `Buffer.withCaptureTime()` does. Takes the reference to
/// the list, and returns one to the result.
func addCaptureTimes(toList list: OpaquePointer) -> OpaquePointer {
    let writable = OpaquePointer(
        gst_mini_object_make_writable(UnsafeMutableRawPointer(list).assumingMemoryBound(to: GstMiniObject.self))!)
    gst_buffer_list_foreach(
        writable,
        { buffer, _, _ in
            if let raw = buffer?.pointee { buffer?.pointee = Buffer(taking: raw).withCaptureTime().take() }
            return 1
        }, nil)
    return writable
}

/// The clock of a reference timestamp. It holds a raw pointer, so that no reference is counted for each frame.
///
/// `@unchecked Sendable`: the pointer points to caps that are never written and never freed.
private struct ReferenceClock: @unchecked Sendable {
    let caps: UnsafeMutablePointer<GstCaps>

    static let unix: ReferenceClock = {
        let caps = Caps("timestamp/x-unix")!.constant
        return withExtendedLifetime(caps) { ReferenceClock(caps: gst_caps_ref(caps.raw)) }
    }()
}

extension BufferAccess {
    /// Sets every byte to `value`. The buffer must be writable.
    public func fill(with value: UInt8) { gst_buffer_memset(raw, 0, value, gst_buffer_get_size(raw)) }
}

/// A reference to a buffer as a copyable value, for queues that can't hold a `Buffer`. The owner calls `take` exactly
/// once; otherwise the reference leaks or is released twice.
package struct UnmanagedBuffer: @unchecked Sendable {
    // `@unchecked Sendable`: owns one reference, which moves with the value.
    private let raw: UnsafeMutablePointer<GstBuffer>

    package init(_ buffer: consuming Buffer) { raw = buffer.take() }

    /// The buffer's properties and bytes, until `take` is called.
    package var access: BufferAccess { BufferAccess(raw) }

    /// Returns the reference to the buffer.
    package consuming func take() -> Buffer { Buffer(taking: raw) }
}
