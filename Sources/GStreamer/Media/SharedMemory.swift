import CGStreamer
import CGStreamerShims
import Glibc

/// Memory shared between processes through an anonymous file (`memfd`). Mapped as long as the object exists.
///
/// `@unchecked Sendable`: address and size are constant. The process that writes must make sure that nobody reads
/// meanwhile.
package final class SharedMemory: @unchecked Sendable {
    /// The size in bytes.
    package let size: Int
    private let address: UnsafeMutableRawPointer
    /// The file descriptor, which is sent to other processes and closed with this object. `nil` for another process's
    /// memory: the mapping doesn't need it, and the number of descriptors per process is limited.
    package let descriptor: Int32?

    /// Allocates memory for writing; `nil` if there is none.
    package init?(size: Int) {
        let descriptor = cgst_shared_memory_new(gsize(size))
        guard descriptor >= 0 else { return nil }
        guard let address = Self.map(descriptor, size, PROT_READ | PROT_WRITE) else { return nil }
        (self.size, self.descriptor, self.address) = (size, descriptor, address)
    }

    /// Maps another process's memory for reading, and takes ownership of the descriptor. Returns `nil` if the file has
    /// fewer than `size` bytes or could be truncated while it is read, because it isn't sealed against shrinking.
    package init?(taking descriptor: Int32, size: Int) {
        guard size > 0, cgst_shared_memory_is_safe(descriptor, gsize(size)) != 0 else {
            close(descriptor)
            return nil
        }
        guard let address = Self.map(descriptor, size, PROT_READ) else { return nil }
        close(descriptor)
        (self.size, self.descriptor, self.address) = (size, nil, address)
    }

    /// Maps the file. If that fails, closes the descriptor and returns `nil`.
    private static func map(_ descriptor: Int32, _ size: Int, _ protection: Int32) -> UnsafeMutableRawPointer? {
        guard let address = mmap(nil, size, protection, MAP_SHARED, descriptor, 0), address != MAP_FAILED else {
            close(descriptor)
            return nil
        }
        return address
    }

    deinit {
        munmap(address, size)
        if let descriptor { close(descriptor) }
    }

    /// Copies all bytes of the buffer to the beginning of the memory. Returns false if the buffer is larger than the
    /// memory or can't be read.
    package func copy(_ buffer: BufferAccess) -> Bool {
        let count = buffer.size
        return count <= size && gst_buffer_extract(buffer.raw, 0, address, gsize(count)) == gsize(count)
    }

    /// Returns a read-only buffer that uses the first `count` bytes; `nil` if `count` is out of range. `released` is
    /// called once, on any thread, when the buffer's memory is released.
    package func buffer(count: Int, released: @escaping @Sendable () -> Void) -> Buffer? {
        guard count >= 0, count <= size else { return nil }
        GStreamerRuntime.initialize()
        let lease = Unmanaged.passRetained(Lease(self, released)).toOpaque()
        let raw = gst_buffer_new_wrapped_full(
            GST_MEMORY_FLAG_READONLY, address, gsize(size), 0, gsize(count), lease,
            { Unmanaged<Lease>.fromOpaque($0!).release() })
        return raw.map(Buffer.init(taking:))
    }

    /// Keeps the memory mapped for a buffer, and reports the end of the buffer.
    private final class Lease: Sendable {
        private let memory: SharedMemory
        private let released: @Sendable () -> Void

        init(_ memory: SharedMemory, _ released: @escaping @Sendable () -> Void) {
            self.memory = memory
            self.released = released
        }

        deinit { released() }
    }
}
