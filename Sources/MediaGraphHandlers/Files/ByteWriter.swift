import Glibc
import MediaGraphCore

/// Writes a file or standard output (`-`) from beginning to end. Use it on one thread at a time.
///
/// The file is created, or an existing one emptied, only when the first byte is written, since a run may end before.
/// The file is closed when the writer is freed. Bytes that couldn't be written aren't written again.
final class ByteWriter {
    /// The name for messages: the path, or "standard output".
    let name: String
    private let path: String
    private let option: String
    /// The file's descriptor; `nil` while the file doesn't exist.
    private var descriptor: Int32?
    private var hasBegun = false
    private var pending: [UInt8] = []
    private let capacity: Int

    /// Throws `invalidParameter` if the file can't be written.
    ///
    /// - Parameters:
    ///   - option: the subject of error messages, such as "option location of y4m".
    ///   - capacity: the number of bytes that are collected before they are written.
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

    /// Throws `invalidParameter` if the file can't be created or written. Doesn't create it.
    static func checkCanWrite(_ path: String, option: String) throws(MediaGraphError) {
        // The target of a symbolic link may not exist yet.
        let target = FileName.resolved(path)
        let folder = target.lastIndex(of: "/").map { target[...$0] } ?? "/"
        guard access(access(target, F_OK) == 0 ? target : String(folder), W_OK) == 0 else {
            throw cannotWrite(path, option)
        }
    }

    /// Returns the error for the last system call. Call this directly after the failed call.
    private static func cannotWrite(_ path: String, _ option: String) -> MediaGraphError {
        .invalidParameter(.init(option, actual: "\(path) can't be written: \(SystemError.latest)"))
    }

    /// Writes a whole file at once.
    static func writeFile(_ path: String, _ bytes: [UInt8], option: String) throws(MediaGraphError) {
        let writer = try ByteWriter(path: path, option: option, capacity: 0)
        try writer.write(bytes.span)
    }

    deinit {
        // Errors are ignored here. `flush` reports them.
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

    /// Writes the collected bytes to the file.
    func flush() throws(MediaGraphError) {
        defer { pending.removeAll(keepingCapacity: true) }
        guard !pending.isEmpty else { return }
        guard Self.writeAll(try begin(), pending.span) else { throw failure }
    }

    /// Creates the file, or empties the existing one, before the first byte is written.
    private func begin() throws(MediaGraphError) -> Int32 {
        if hasBegun, let descriptor { return descriptor }
        if let descriptor {
            // Only a regular file can be emptied.
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
                    // Another process has made the terminal or pipe non-blocking.
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
