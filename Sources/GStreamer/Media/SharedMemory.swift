import CGStreamer
import CGStreamerShims
import Glibc

/// Memory that several processes see, as a file without a name; mapped as long as this lives.
///
/// `@unchecked Sendable`: address and size are constant; whoever writes sees to it that nobody reads meanwhile.
public final class SharedMemory: @unchecked Sendable {
    public let size: Int
    private let address: UnsafeMutableRawPointer
    /// To be passed on with a message; closed with this. `nil` for somebody else's memory: what is mapped needs none, and a
    /// process has few.
    public let descriptor: Int32?

    /// New memory to write to; `nil` when there is none.
    public init?(size: Int) {
        let descriptor = cgst_shared_memory_new(gsize(size))
        guard descriptor >= 0 else { return nil }
        guard let address = Self.map(descriptor, size, PROT_READ | PROT_WRITE) else { return nil }
        (self.size, self.descriptor, self.address) = (size, descriptor, address)
    }

    /// Somebody else's, to read; takes the descriptor over. `nil` for a file that isn't what it should be, or could be cut
    /// short while it is read.
    public init?(taking descriptor: Int32, size: Int) {
        guard size > 0, cgst_shared_memory_is_safe(descriptor, gsize(size)) != 0 else {
            close(descriptor)
            return nil
        }
        guard let address = Self.map(descriptor, size, PROT_READ) else { return nil }
        close(descriptor)
        (self.size, self.descriptor, self.address) = (size, nil, address)
    }

    /// Closes the descriptor where it can't be mapped.
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

    /// The buffer's bytes, all of them, copied to the beginning. False when it is larger, or can't be read.
    public func copy(_ buffer: BufferAccess) -> Bool {
        let count = buffer.size
        return count <= size && gst_buffer_extract(buffer.raw, 0, address, gsize(count)) == gsize(count)
    }

    /// A buffer on the first `count` bytes, for reading; `released` runs once with its end, on any thread.
    public func buffer(count: Int, released: @escaping @Sendable () -> Void) -> Buffer? {
        guard count >= 0, count <= size else { return nil }
        let end = Unmanaged.passRetained(End(self, released)).toOpaque()
        let raw = gst_buffer_new_wrapped_full(
            GST_MEMORY_FLAG_READONLY, address, gsize(size), 0, gsize(count), end,
            { Unmanaged<End>.fromOpaque($0!).release() })
        return raw.map(Buffer.init(taking:))
    }

    private final class End: Sendable {
        private let memory: SharedMemory
        private let released: @Sendable () -> Void

        init(_ memory: SharedMemory, _ released: @escaping @Sendable () -> Void) {
            self.memory = memory
            self.released = released
        }

        deinit { released() }
    }
}
