import CGStreamer
import CGStreamerShims

/// A buffer that is kept after the call that delivered it. The kept buffers of each pool are counted, so that a pool
/// with a limited number of buffers never runs out: the whole process may keep all but two of them.
package struct KeptBuffer: ~Copyable, Sendable {
    private let buffer: Buffer
    private let count: PoolCount?

    /// The count of a pool's kept buffers.
    ///
    /// `@unchecked Sendable`: an atomic count that exists as long as the pool, to which the buffer holds a reference.
    private struct PoolCount: @unchecked Sendable {
        let pointer: UnsafeMutablePointer<CGstPoolShare>
    }

    /// Keeps a reference to the buffer; `nil` if its pool is at the limit.
    package init?(keeping buffer: BufferAccess) {
        if let pool = buffer.pool {
            let count = cgst_pool_share(pool)!
            guard cgst_pool_share_take(count) != 0 else { return nil }
            self.count = PoolCount(pointer: count)
        } else {
            count = nil
        }
        self.buffer = buffer.retained
    }

    /// Keeps a copy of the buffer, which doesn't count against the pool's limit.
    package init(copying buffer: BufferAccess) {
        self.buffer = buffer.deepCopy
        count = nil
    }

    // Runs before the buffer is released, which may free the pool and with it the count.
    deinit { if let count { cgst_pool_share_give_back(count.pointer) } }

    package var access: BufferAccess { buffer.access }
}

extension BufferAccess {
    /// Whether the buffer's pool is below its limit at the moment, so that the buffer can be kept.
    package var canBeKept: Bool {
        guard let pool else { return true }
        let share = cgst_pool_share(pool)!
        return share.pointee.limit == 0 || g_atomic_int_get(&share.pointee.kept) < share.pointee.limit
    }

    /// The decoding timestamp of encoded media; `nil` if the buffer has none.
    package var decodingTimestamp: ClockTime? {
        get { ClockTime(raw: raw.pointee.dts) }
        nonmutating set { raw.pointee.dts = newValue.raw }
    }

    /// Whether the buffer can be decoded without the buffers before it.
    package var isKeyframe: Bool { raw.pointee.mini_object.flags & GST_BUFFER_FLAG_DELTA_UNIT.rawValue == 0 }

    /// The memory types of the buffer's blocks, such as "SystemMemory", "dmabuf" or "GLMemory".
    package var memoryTypes: [String] {
        (0..<gst_buffer_n_memory(raw)).compactMap { index in
            gst_buffer_peek_memory(raw, index).pointee.allocator?.pointee.mem_type.map { String(cString: $0) }
        }
    }

    /// Calls `body` with the buffer's bytes, mapped for reading. Returns `nil` if the CPU can't read the memory.
    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R? {
        var map = GstMapInfo()
        guard gst_buffer_map(raw, &map, GST_MAP_READ) != 0 else { return nil }
        defer { gst_buffer_unmap(raw, &map) }
        return try body(UnsafeRawBufferPointer(start: map.data, count: Int(map.size)))
    }
}
