import Glibc
import MediaGraphCore

/// Writes a file or standard output (`-`) from front to back. Belongs to one thread at a time.
///
/// A file that is there stays as it was, and one that isn't isn't made, until the first byte is written: a run may end before that.
/// The file is closed when the writer is freed. What a failed write left behind isn't tried again.
final class ByteWriter {
    /// As messages name it: the path, or "standard output".
    let name: String
    private let path: String
    private let option: String
    /// `nil` for a file that isn't there yet.
    private var descriptor: Int32?
    private var hasBegun = false
    private var pending: [UInt8] = []
    private let capacity: Int

    /// Throws when the file can't be written. `capacity` bytes are collected before they are written.
    init(path: String, option: String, capacity: Int = 256 * 1024) throws(MediaGraphError) {
        name = path == "-" ? "standard output" : path
        (self.path, self.option) = (path, option)
        self.capacity = capacity
        let opened = path == "-" ? STDOUT_FILENO : open(path, O_WRONLY | O_CLOEXEC)
        if opened >= 0 {
            descriptor = opened
        } else {
            guard errno == ENOENT else { throw Self.cannotWrite(path, option) }
            try Self.checkCanWrite(path, option: option)
        }
        pending.reserveCapacity(capacity)
    }

    /// Whether `init` would be able to make the file by now; nothing is made.
    static func checkCanWrite(_ path: String, option: String) throws(MediaGraphError) {
        // A link may lead to a file that isn't there yet.
        let target = FileName.resolved(path)
        let folder = target.lastIndex(of: "/").map { target[...$0] } ?? "/"
        guard access(access(target, F_OK) == 0 ? target : String(folder), W_OK) == 0 else {
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
        if !pending.isEmpty, let descriptor = try? begin() { _ = Self.writeAll(descriptor, pending.span) }
        if let descriptor, descriptor > STDERR_FILENO { close(descriptor) }
    }

    func write(_ text: String) throws(MediaGraphError) {
        let bytes = Array(text.utf8)
        try write(bytes.span)
    }

    func write(_ bytes: Span<UInt8>) throws(MediaGraphError) {
        if pending.count + bytes.count > capacity { try flush() }
        if bytes.count >= capacity {
            guard Self.writeAll(try begin(), bytes) else { throw failure }
        } else {
            bytes.withUnsafeBufferPointer { pending.append(contentsOf: $0) }
        }
    }

    /// Hands everything to the system.
    func flush() throws(MediaGraphError) {
        defer { pending.removeAll(keepingCapacity: true) }
        guard !pending.isEmpty else { return }
        guard Self.writeAll(try begin(), pending.span) else { throw failure }
    }

    /// Makes the file, or empties the one that is there, before the first byte.
    private func begin() throws(MediaGraphError) -> Int32 {
        if hasBegun, let descriptor { return descriptor }
        if let descriptor {
            // What isn't a regular file can't be emptied, and needn't be.
            var status = stat()
            if path != "-", fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
                guard ftruncate(descriptor, 0) == 0 else { throw failure }
            }
        } else {
            let made = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
            guard made >= 0 else { throw Self.cannotWrite(path, option) }
            descriptor = made
        }
        hasBegun = true
        return try begin()
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
