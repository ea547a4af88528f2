import CGStreamer
import CGStreamerShims

/// A buffer kept beyond the moment it came in: what that costs its pool is counted, so that a pool with a bound never runs
/// dry. All but two of its buffers may be kept, by everybody in the process together.
public struct KeptBuffer: ~Copyable, Sendable {
    private let buffer: Buffer
    private let share: Share?

    /// `@unchecked Sendable`: an atomic count that lives as long as the pool, which the buffer keeps.
    private struct Share: @unchecked Sendable {
        let pointer: UnsafeMutablePointer<CGstPoolShare>
    }

    /// A reference on the buffer; `nil` at the pool's limit.
    public init?(keeping buffer: BufferAccess) {
        if let pool = buffer.pool {
            let share = cgst_pool_share(pool)!
            guard cgst_pool_share_take(share) != 0 else { return nil }
            self.share = Share(pointer: share)
        } else {
            share = nil
        }
        self.buffer = buffer.retained
    }

    /// A buffer with memory of its own, which costs the pool nothing.
    public init(copying buffer: BufferAccess) {
        self.buffer = buffer.copied
        share = nil
    }

    // The buffer goes after this, and with it perhaps the pool.
    deinit { if let share { cgst_pool_share_give_back(share.pointer) } }

    public var access: BufferAccess { buffer.access }
}

extension BufferAccess {
    /// Whether the pool of the buffer can spare it, now.
    public var canBeKept: Bool {
        guard let pool else { return true }
        let share = cgst_pool_share(pool)!
        return share.pointee.limit == 0 || g_atomic_int_get(&share.pointee.kept) < share.pointee.limit
    }

    /// Decoding timestamp, of encoded media.
    public var decodingTimestamp: ClockTime? {
        get { ClockTime(raw: raw.pointee.dts) }
        nonmutating set { raw.pointee.dts = newValue.raw }
    }

    /// It can be decoded without the ones before it.
    public var isKeyframe: Bool { raw.pointee.mini_object.flags & GST_BUFFER_FLAG_DELTA_UNIT.rawValue == 0 }

    /// The kinds of memory that it is made of, such as "SystemMemory", "dmabuf" or "GLMemory".
    public var memoryTypes: [String] {
        (0..<gst_buffer_n_memory(raw)).compactMap { index in
            gst_buffer_peek_memory(raw, index).pointee.allocator?.pointee.mem_type.map { String(cString: $0) }
        }
    }

    /// Maps the buffer's bytes while `body` runs; `nil` when no CPU can read it.
    public func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R? {
        var map = GstMapInfo()
        guard gst_buffer_map(raw, &map, GST_MAP_READ) != 0 else { return nil }
        defer { gst_buffer_unmap(raw, &map) }
        return try body(UnsafeRawBufferPointer(start: map.data, count: Int(map.size)))
    }
}
