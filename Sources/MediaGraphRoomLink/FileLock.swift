import Foundation
import GStreamer
import MediaGraphCore
import MediaGraphSession

/// A lock on a file, which one process at a time can hold. The system releases it when the process ends, even if it is
/// killed.
///
/// A thread that waits for a lock tries again and again, since the system's own waiting calls (`flock` and
/// `F_OFD_SETLKW` without `LOCK_NB`) can neither be given a time limit nor be cancelled: only a signal ends them, and
/// signal handlers belong to the program. So a thread may wait only if nobody needs it: `RoomLink` waits on threads of
/// its own, without a lock of this process.
final class FileLock: Sendable {
    /// How long a thread waits for a lock that another process holds.
    struct Wait: Sendable {
        var limit: Duration
        var clock = TimerClock.system
        /// Ends the wait when it returns false.
        var isWanted: @Sendable () -> Bool = { true }

        static let none = Wait(limit: .zero)
    }

    private let path: String
    private let descriptor: Int32

    /// Takes the lock, and creates the file if necessary. `nil` if another process still holds the lock after `wait`.
    /// Throws `processingFailed` if the file can't be opened.
    init?(_ path: String, _ wait: Wait = .none) throws(MediaGraphError) {
        let deadline = wait.clock.time(after: wait.limit)
        while true {
            // Read before the attempt: the last attempt comes after the limit, even if the machine paused meanwhile.
            let now = wait.clock.now
            if let descriptor = try Self.locked(path) {
                (self.path, self.descriptor) = (path, descriptor)
                return
            }
            guard now < deadline, wait.isWanted() else { return nil }
            sleepBriefly()
        }
    }

    deinit { close(descriptor) }

    private static func locked(_ path: String) throws(MediaGraphError) -> Int32? {
        while true {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw failure(path) }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                // The previous holder may have removed the file in the meantime. The lock on a removed file is
                // worthless, so try again.
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
        .processingFailed(.init(path, actual: "can't be locked: \(String(cString: strerror(errno)))"))
    }

    /// Replaces the file's contents.
    func write(_ text: String) {
        var text = text
        let count = text.withUTF8 { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        // Never to 0, which waits until the disk has written what the file contained.
        ftruncate(descriptor, off_t(count))
    }

    /// The process that holds the lock on a file; `nil` if there is none, or if the system doesn't tell.
    ///
    /// The lines of `/proc/locks` are like `1: FLOCK  ADVISORY  WRITE 7710 fe:00:16253158 0 EOF`: after the process come
    /// the numbers of the file's device, in hexadecimal, and of its inode. A process of another container is 0 or -1.
    static func holder(of path: String) -> pid_t? {
        var status = stat()
        guard stat(path, &status) == 0, let locks = try? String(contentsOfFile: "/proc/locks", encoding: .utf8) else {
            return nil
        }
        // Major and minor number, as makedev(3) combines them.
        let (low, high) = (status.st_dev & 0xFFFF_FFFF, status.st_dev >> 32)
        let device = [low >> 8 & 0xFFF | high & 0xFFFF_F000, low & 0xFF | low >> 12 & 0xFFF00]
        for line in locks.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 5, fields[1] == "FLOCK" else { continue }
            let file = fields[5].split(separator: ":")
            guard file.count == 3, file[..<2].map({ dev_t($0, radix: 16) }) == device,
                UInt64(file[2]) == UInt64(status.st_ino), let process = pid_t(fields[4]), process > 0
            else { continue }
            return process
        }
        return nil
    }

    /// Whether the lock is still effective: its file is still at its path.
    var isInPlace: Bool { Self.isFile(descriptor, at: path) }

    /// Removes the file, unless another one has taken its place. Releasing this object releases the lock.
    func remove() { if Self.isFile(descriptor, at: path) { unlink(path) } }
}
