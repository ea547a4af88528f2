import Foundation
import GStreamer
import MediaGraphCore

/// A file that only one process has locked; the system unlocks it when that process ends, however it does.
final class FileLock: Sendable {
    private let path: String
    private let descriptor: Int32

    /// `nil` while another has it, for as long as is said, in nanoseconds. Throws `processingFailed` where there can be no such
    /// file, or no more descriptors.
    init?(_ path: String, timeout: UInt64 = 0) throws(MediaGraphError) {
        let deadline = monotonicNanoseconds() + timeout
        var descriptor = try Self.locked(path)
        while descriptor == nil, monotonicNanoseconds() < deadline {
            sleepBriefly()
            descriptor = try Self.locked(path)
        }
        guard let descriptor else { return nil }
        (self.path, self.descriptor) = (path, descriptor)
    }

    deinit { close(descriptor) }

    private static func locked(_ path: String) throws(MediaGraphError) -> Int32? {
        while true {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw failure(path) }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                // Whoever had it may have removed it in between: then there is another for the next.
                if isFile(descriptor, at: path) { return descriptor }
                close(descriptor)
            } else {
                let isHeld = errno == EWOULDBLOCK
                let error = failure(path)
                close(descriptor)
                guard isHeld else { throw error }
                return nil
            }
        }
    }

    private static func isFile(_ descriptor: Int32, at path: String) -> Bool {
        var (mine, there) = (stat(), stat())
        return fstat(descriptor, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino
            && mine.st_dev == there.st_dev
    }

    private static func failure(_ path: String) -> MediaGraphError {
        .processingFailed(.init(path, expected: "a file to lock", actual: String(cString: strerror(errno))))
    }

    /// In place of what the file held.
    func write(_ text: String) {
        ftruncate(descriptor, 0)
        var text = text
        _ = text.withUTF8 { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    /// The file goes, and the lock with this. Where another file has taken its place, that one stays.
    func remove() { if Self.isFile(descriptor, at: path) { unlink(path) } }
}
