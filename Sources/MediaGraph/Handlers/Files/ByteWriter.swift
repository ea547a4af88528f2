import Glibc

/// Writes a file or standard output (`-`) from front to back. Belongs to one thread at a time.
///
/// The file is closed when the writer is freed. What a failed write left behind isn't tried again.
final class ByteWriter {
    /// As messages name it: the path, or "standard output".
    let name: String
    private let descriptor: Int32
    private var pending: [UInt8] = []
    private let capacity: Int

    /// Makes the file, or empties the one that is there. `capacity` bytes are collected before they are written.
    init(path: String, option: String, capacity: Int = 256 * 1024) throws(MediaGraphError) {
        name = path == "-" ? "standard output" : path
        self.capacity = capacity
        descriptor = path == "-" ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw Self.cannotWrite(path, option) }
        pending.reserveCapacity(capacity)
    }

    /// Whether `init` would be able to make the file by now; nothing is made.
    static func checkCanWrite(_ path: String, option: String) throws(MediaGraphError) {
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "."
        guard access(access(path, F_OK) == 0 ? path : String(folder), W_OK) == 0 else {
            throw cannotWrite(path, option)
        }
    }

    /// Right after the system call that failed.
    private static func cannotWrite(_ path: String, _ option: String) -> MediaGraphError {
        .invalidParameter(
            .init(option, expected: "a file that can be written", actual: "\(path) (\(SystemError.latest))"))
    }

    /// Writes a whole file at once.
    static func writeFile(_ path: String, _ bytes: [UInt8], option: String) throws(MediaGraphError) {
        let writer = try ByteWriter(path: path, option: option, capacity: 0)
        try writer.write(bytes.span)
    }

    deinit {
        // Whoever cares for errors has called `flush`.
        _ = Self.writeAll(descriptor, pending.span)
        if descriptor > STDERR_FILENO { close(descriptor) }
    }

    func write(_ text: String) throws(MediaGraphError) {
        let bytes = Array(text.utf8)
        try write(bytes.span)
    }

    func write(_ bytes: Span<UInt8>) throws(MediaGraphError) {
        if pending.count + bytes.count > capacity { try flush() }
        if bytes.count >= capacity {
            guard Self.writeAll(descriptor, bytes) else { throw failure }
        } else {
            bytes.withUnsafeBufferPointer { pending.append(contentsOf: $0) }
        }
    }

    /// Hands everything to the system.
    func flush() throws(MediaGraphError) {
        defer { pending.removeAll(keepingCapacity: true) }
        guard Self.writeAll(descriptor, pending.span) else { throw failure }
    }

    private static func writeAll(_ descriptor: Int32, _ bytes: Span<UInt8>) -> Bool {
        bytes.withUnsafeBufferPointer { bytes in
            var rest = UnsafeRawBufferPointer(bytes)[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress!, rest.count)
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    // A terminal or pipe that somebody else made non-blocking.
                    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&request, 1, 100)
                } else if errno != EINTR {
                    return false
                }
            }
            return true
        }
    }

    private var failure: MediaGraphError {
        .processingFailed(.init("writing \(name)", actual: "\(SystemError.latest)"))
    }
}
