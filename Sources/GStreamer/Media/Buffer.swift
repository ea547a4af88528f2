import CGStreamer

/// One reference on a media buffer, given up with its scope. No allocation of its own.
///
/// `@unchecked Sendable`: reference counts are atomic, and a buffer is written only through `BufferAccess`, which the
/// streaming thread lends.
public struct Buffer: ~Copyable, @unchecked Sendable {
    package let raw: UnsafeMutablePointer<GstBuffer>

    package init(taking raw: UnsafeMutablePointer<GstBuffer>) { self.raw = raw }
    package init(retaining raw: UnsafeMutablePointer<GstBuffer>) { self.raw = gst_buffer_ref(raw) }

    /// A new buffer with memory of its own; `nil` when it can't be had.
    public init?(size: Int) {
        guard let raw = gst_buffer_new_allocate(nil, gsize(size), nil) else { return nil }
        self.raw = raw
    }

    /// A new buffer with a copy of these bytes; `nil` when there is no memory.
    public init?(copying bytes: UnsafeRawBufferPointer) {
        self.init(size: bytes.count)
        gst_buffer_fill(raw, 0, bytes.baseAddress, gsize(bytes.count))
    }

    /// A new buffer whose every byte is `value`; `nil` when there is no memory.
    public init?(filledWith value: UInt8, count: Int) {
        self.init(size: count)
        gst_buffer_memset(raw, 0, value, gsize(count))
    }

    /// A buffer around the caller's memory, which must stay as it is until `release` runs (on any thread). No copy.
    public init(
        wrapping memory: UnsafeMutableRawBufferPointer, context: UnsafeMutableRawPointer?,
        release: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?
    ) {
        raw = gst_buffer_new_wrapped_full(
            GstMemoryFlags(rawValue: 0), memory.baseAddress, gsize(memory.count), 0, gsize(memory.count), context,
            release)
    }

    deinit { gst_buffer_unref(raw) }

    /// Gives the reference up to C.
    package consuming func take() -> UnsafeMutablePointer<GstBuffer> {
        let raw = self.raw
        discard self
        return raw
    }

    public var retained: Buffer { Buffer(retaining: raw) }
    public var access: BufferAccess { BufferAccess(raw) }

    /// The same, or a copy where somebody else holds it too: its timestamps may be written. The bytes aren't copied.
    public consuming func writable() -> Buffer {
        let mini = UnsafeMutableRawPointer(take()).assumingMemoryBound(to: GstMiniObject.self)
        return Buffer(
            taking: UnsafeMutableRawPointer(gst_mini_object_make_writable(mini)!)
                .assumingMemoryBound(to: GstBuffer.self))
    }
}

/// A look at a buffer that somebody else holds: valid for the call it was passed to.
public struct BufferAccess {
    @usableFromInline package let raw: UnsafeMutablePointer<GstBuffer>

    @inlinable
    package init(_ raw: UnsafeMutablePointer<GstBuffer>) { self.raw = raw }

    /// Presentation timestamp in its segment.
    public var presentationTimestamp: ClockTime? {
        @inlinable get { ClockTime(raw: raw.pointee.pts) }
        @inlinable nonmutating set { raw.pointee.pts = newValue.raw }
    }

    public var duration: ClockTime? {
        @inlinable get { ClockTime(raw: raw.pointee.duration) }
        @inlinable nonmutating set { raw.pointee.duration = newValue.raw }
    }

    /// It doesn't follow on the one before (`GST_BUFFER_FLAG_DISCONT`).
    public var isDiscontinuous: Bool { raw.pointee.mini_object.flags & GST_BUFFER_FLAG_DISCONT.rawValue != 0 }
    func clearFlags() {
        raw.pointee.mini_object.flags &=
            ~(GST_BUFFER_FLAG_DISCONT.rawValue | GST_BUFFER_FLAG_GAP.rawValue
            | GST_BUFFER_FLAG_RESYNC.rawValue)
    }

    public func markDiscontinuous() { raw.pointee.mini_object.flags |= GST_BUFFER_FLAG_DISCONT.rawValue }

    /// Every byte becomes 0.
    public func silence() { gst_buffer_memset(raw, 0, 0, gst_buffer_get_size(raw)) }

    public var size: Int { Int(gst_buffer_get_size(raw)) }

    /// Leaves only the bytes from `start` up to `end` in it. No copy.
    public func trim(from start: Int = 0, to end: Int? = nil) {
        gst_buffer_resize(raw, gssize(start), gssize((end ?? size) - start))
    }

    /// All flags that say what the bytes are, such as those of keyframes, gaps and interlaced pictures, and nothing of the memory
    /// that they lie in: they mean the same of a copy, wherever that is.
    public var contentFlags: UInt32 {
        get { raw.pointee.mini_object.flags & Self.contentMask }
        nonmutating set {
            raw.pointee.mini_object.flags =
                raw.pointee.mini_object.flags & ~Self.contentMask | newValue & Self.contentMask
        }
    }

    /// Of the content flags: others were to come before it.
    public static let discontinuous = GST_BUFFER_FLAG_DISCONT.rawValue

    private static let contentMask: UInt32 = {
        let flags = [
            GST_BUFFER_FLAG_LIVE, GST_BUFFER_FLAG_DECODE_ONLY, GST_BUFFER_FLAG_DISCONT, GST_BUFFER_FLAG_RESYNC,
            GST_BUFFER_FLAG_CORRUPTED, GST_BUFFER_FLAG_MARKER, GST_BUFFER_FLAG_HEADER, GST_BUFFER_FLAG_GAP,
            GST_BUFFER_FLAG_DROPPABLE, GST_BUFFER_FLAG_DELTA_UNIT, GST_BUFFER_FLAG_NON_DROPPABLE,
        ]
        // From the last on each kind of media has its own.
        return flags.reduce(~(GST_BUFFER_FLAG_LAST.rawValue - 1)) { $0 | $1.rawValue }
    }()

    /// Silence that nobody sent, or nothing to see: bytes for those who need some (`GST_BUFFER_FLAG_GAP`).
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

    public var retained: Buffer { Buffer(retaining: raw) }

    /// A buffer with memory of its own.
    public var copied: Buffer { Buffer(taking: gst_buffer_copy_deep(raw)) }

    /// Another buffer on the same memory, with timestamps and flags of its own.
    public var described: Buffer { Buffer(taking: gst_buffer_copy(raw)) }

    /// The same, which holds this buffer for as long as it lives: its pool has it back, memory and all, only then.
    public var alias: Buffer {
        let alias = described
        gst_buffer_add_parent_buffer_meta(alias.raw, raw)
        return alias
    }

    /// The pool that it goes back to, or that the buffer does whose memory it shows.
    package var pool: UnsafeMutablePointer<GstBufferPool>? {
        if let pool = raw.pointee.pool { return pool }
        guard let meta = gst_buffer_get_meta(raw, gst_parent_buffer_meta_api_get_type()) else { return nil }
        return UnsafeMutableRawPointer(meta).assumingMemoryBound(to: GstParentBufferMeta.self)
            .pointee.buffer.pointee.pool
    }

    /// Wall-clock time of capture, Unix nanoseconds (`GstReferenceTimestampMeta`, `timestamp/x-unix`).
    public var captureTime: UInt64? {
        guard let meta = gst_buffer_get_reference_timestamp_meta(raw, ReferenceClock.unix.caps) else { return nil }
        return UInt64(meta.pointee.timestamp)
    }

    /// Adds the wall-clock time of capture.
    public func setCaptureTime(_ unixNanoseconds: UInt64) {
        gst_buffer_add_reference_timestamp_meta(raw, ReferenceClock.unix.caps, GstClockTime(unixNanoseconds), .max)
    }
}

/// The clock that a reference timestamp is of, without a reference to count for each frame.
///
/// `@unchecked Sendable`: points to caps that are never written and never freed.
private struct ReferenceClock: @unchecked Sendable {
    let caps: UnsafeMutablePointer<GstCaps>

    static let unix: ReferenceClock = {
        let caps = Caps("timestamp/x-unix")!.constant
        return withExtendedLifetime(caps) { ReferenceClock(caps: gst_caps_ref(caps.raw)) }
    }()
}

extension BufferAccess {
    /// Sets every byte.
    public func fill(with value: UInt8) { gst_buffer_memset(raw, 0, value, gst_buffer_get_size(raw)) }
}
