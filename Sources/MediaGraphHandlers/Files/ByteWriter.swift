import Glibc
import MediaGraphCore

/// Writes a file, a FIFO or standard output (`-`) from beginning to end. Use it on one thread at a time.
///
/// The file is created, or an existing one emptied, only when the first byte is written, since a run may end before.
/// The file is closed when the writer is freed. Bytes that couldn't be written aren't written again.
///
/// A write to a FIFO, a pipe or a terminal waits for its reader; other writes don't wait. After `interruption` is set,
/// `write` returns within 100 ms, and the next call writes the remaining bytes. `flush` waits for a slow reader for up
/// to one more second.
final class ByteWriter {
    /// The name for messages: the path, or "standard output".
    let name: String
    private let path: String
    private let option: String
    private let interruption: Interruption
    /// The file's descriptor; `nil` while the file doesn't exist, or while a FIFO has no reader.
    private var descriptor: Int32?
    private var isFIFO = false
    private var hasBegun = false
    private var pending: [UInt8] = []
    private let capacity: Int
    private var isFreed = false
    private var isInterrupted: Bool { isFreed || interruption.isSet }

    /// Throws `invalidParameter` if the file can't be written.
    ///
    /// - Parameters:
    ///   - option: the subject of error messages, such as "option location of y4m".
    ///   - capacity: the number of bytes that are collected before they are written.
    init(
        path: String, option: String, capacity: Int = 256 * 1024, interruption: Interruption = Interruption()
    ) throws(MediaGraphError) {
        // Opened by this name, a redirected standard output would be emptied, and `>>` would lose what it had.
        let isStandard = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].contains(path)
        name = isStandard ? "standard output" : path
        (self.path, self.option) = (isStandard ? "-" : path, option)
        (self.capacity, self.interruption) = (capacity, interruption)
        var status = stat()
        if isStandard {
            descriptor = STDOUT_FILENO
            // Not blocking. Standard output itself is shared with other processes.
            if fstat(STDOUT_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFIFO,
                case let own = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC), own >= 0
            {
                descriptor = own
            }
        } else if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFIFO {
            isFIFO = true
            try Self.checkCanWrite(path, option: option)
        } else {
            let opened = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            if opened >= 0 {
                descriptor = opened
            } else {
                guard errno == ENOENT else { throw Self.cannotWrite(path, option) }
                try Self.checkCanWrite(path, option: option)
            }
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
    static func writeFile(
        _ path: String, _ bytes: [UInt8], option: String, interruption: Interruption
    ) throws(MediaGraphError) {
        let writer = try ByteWriter(path: path, option: option, capacity: 0, interruption: interruption)
        try writer.write(bytes.span)
        try writer.flush()
    }

    deinit {
        // Errors are ignored here. `flush` reports them.
        isFreed = true
        try? drain(patience: Self.patience)
        if let descriptor, descriptor > STDERR_FILENO { close(descriptor) }
    }

    func write(_ text: String) throws(MediaGraphError) {
        let bytes = Array(text.utf8)
        try write(bytes.span)
    }

    func write(_ bytes: Span<UInt8>) throws(MediaGraphError) {
        if pending.count + bytes.count > capacity { try drain(patience: 0) }
        let isDirect = pending.isEmpty && bytes.count >= capacity
        let written = isDirect ? try put(bytes, patience: 0) : 0
        guard written < bytes.count else { return }
        bytes.extracting(droppingFirst: written).withUnsafeBufferPointer { pending.append(contentsOf: $0) }
    }

    /// Writes the collected bytes to the file. Throws `timeOut` if the writer is interrupted and the file's reader
    /// doesn't read.
    func flush() throws(MediaGraphError) {
        try drain(patience: Self.patience)
        guard !pending.isEmpty else { return }
        defer { pending.removeAll() }
        throw .timeOut(
            .init("writing \(name)", actual: "its reader doesn't read: the last \(pending.count) bytes are lost"))
    }

    /// The number of steps of 100 ms for which `flush` waits after an interruption.
    private static let patience = 10

    private func drain(patience: Int) throws(MediaGraphError) {
        guard !pending.isEmpty else { return }
        // After an error, the bytes aren't written again.
        var written = pending.count
        defer { pending.removeFirst(written) }
        written = try put(pending.span, patience: patience)
    }

    /// Returns the file's descriptor. Before the first byte, creates the file, or empties the existing one. `nil` for a
    /// FIFO without a reader.
    private func begin() throws(MediaGraphError) -> Int32? {
        if hasBegun, let descriptor { return descriptor }
        if let descriptor {
            // Only a regular file can be emptied.
            var status = stat()
            if path != "-", fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
                guard ftruncate(descriptor, 0) == 0 else { throw failure }
            }
        } else {
            let made = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0o666)
            if made < 0, isFIFO, errno == ENXIO { return nil }
            guard made >= 0 else { throw Self.cannotWrite(path, option) }
            descriptor = made
        }
        hasBegun = true
        return descriptor
    }

    /// Writes bytes, and returns their number, which is smaller than the given one only after an interruption.
    ///
    /// - Parameter patience: how many steps of 100 ms without progress an interrupted call waits.
    private func put(_ bytes: Span<UInt8>, patience: Int) throws(MediaGraphError) -> Int {
        var written = 0
        var waited = 0
        while written < bytes.count {
            guard let descriptor = try begin() else {
                // Nobody has opened the FIFO for reading.
                if isInterrupted { break }
                usleep(50_000)
                continue
            }
            let count = bytes.extracting(droppingFirst: written).withUnsafeBufferPointer {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count >= 0 {
                (written, waited) = (written + count, 0)
            } else if errno == EAGAIN {
                if isInterrupted, waited >= patience { break }
                var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                if poll(&request, 1, 100) == 0 { waited += 1 }
            } else if errno != EINTR {
                throw failure
            }
        }
        return written
    }

    private var failure: MediaGraphError {
        .processingFailed(.init("writing \(name)", actual: "\(SystemError.latest)"))
    }
}
