import Glibc
import MediaGraphCore

/// Reads a file, a named pipe or standard input (`-`) from beginning to end, and can be interrupted.
///
/// Use it on one thread at a time. Every wait ends within 100 ms after `interruption` is set. The bytes read until then
/// aren't lost: the next call continues after them.
struct ByteReader: ~Copyable {
    enum Outcome: Equatable {
        /// All requested bytes have been read.
        case complete
        /// The file has ended before the requested bytes.
        case end
        case interrupted
    }

    /// The name for messages: the path, or "standard input".
    let name: String
    /// Whether this is a file on disk, which can be read again from the start.
    let isRegularFile: Bool
    /// The file's size in bytes when it was opened; 0 for pipes and devices.
    let size: Int
    private let descriptor: Int32
    private let interruption: Interruption
    private var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    private var unread = 0..<0

    /// Opens the file. Opening a named pipe doesn't wait for a writer.
    init(path: String, option: String, interruption: Interruption) throws(MediaGraphError) {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw .invalidParameter(.init(option, actual: "\(path) can't be read: \(SystemError.latest)"))
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            if path != "-" { close(descriptor) }
            throw .invalidParameter(.init(option, actual: "\(path) is a folder; name a file in it"))
        }
        name = path == "-" ? "standard input" : path
        isRegularFile = status.st_mode & S_IFMT == S_IFREG
        size = Int(status.st_size)
        self.descriptor = descriptor
        self.interruption = interruption
    }

    deinit { if descriptor > STDERR_FILENO { close(descriptor) } }

    /// Reads one line of at most `limit` bytes into `line`, without its line break. After an interruption, call again
    /// to continue the line.
    mutating func readLine(into line: inout [UInt8], limit: Int) throws(MediaGraphError) -> Outcome {
        while line.count < limit {
            if unread.isEmpty {
                let outcome = try fill()
                guard outcome == .complete else { return outcome }
            }
            let byte = buffer[unread.lowerBound]
            unread = unread.lowerBound + 1..<unread.upperBound
            if byte == UInt8(ascii: "\n") { return .complete }
            line.append(byte)
        }
        return .complete
    }

    /// Fills `bytes` from the offset `filled` on, and advances `filled`. After an interruption, call again to continue.
    mutating func read(into bytes: inout [UInt8], filled: inout Int) throws(MediaGraphError) -> Outcome {
        while filled < bytes.count {
            guard unread.isEmpty else {
                let count = min(unread.count, bytes.count - filled)
                bytes.replaceSubrange(
                    filled..<filled + count, with: buffer[unread.lowerBound..<unread.lowerBound + count])
                unread = unread.lowerBound + count..<unread.upperBound
                filled += count
                continue
            }
            guard try waitForData() else { return .interrupted }
            let start = filled
            let count = bytes.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress! + start, $0.count - start)
            }
            guard let count = try checked(count) else { continue }
            guard count > 0 else { return .end }
            filled += count
        }
        return .complete
    }

    /// Continues reading at `offset`, in bytes; only for a regular file.
    mutating func rewind(to offset: Int) throws(MediaGraphError) {
        guard lseek(descriptor, off_t(offset), SEEK_SET) >= 0 else { throw failure }
        unread = 0..<0
    }

    private mutating func fill() throws(MediaGraphError) -> Outcome {
        while true {
            guard try waitForData() else { return .interrupted }
            let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress!, $0.count) }
            guard let count = try checked(count) else { continue }
            unread = 0..<count
            return count == 0 ? .end : .complete
        }
    }

    /// Waits until there is data. Returns `false` if interrupted. A file on disk is always ready.
    private func waitForData() throws(MediaGraphError) -> Bool {
        while !interruption.isSet {
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&request, 1, 100)
            if ready > 0 { return true }
            if ready < 0, errno != EINTR { throw failure }
        }
        return false
    }

    /// Returns the result of a read; `nil` if the call must be repeated.
    private func checked(_ count: Int) throws(MediaGraphError) -> Int? {
        if count >= 0 { return count }
        guard errno == EINTR || errno == EAGAIN else { throw failure }
        return nil
    }

    private var failure: MediaGraphError { .processingFailed(.init(name, actual: "\(SystemError.latest)")) }
}

/// The error of the last C library call that failed.
package struct SystemError: CustomStringConvertible {
    let code: Int32

    package static var latest: SystemError { SystemError(code: errno) }

    package var description: String { String(cString: strerror(code)) }
}
