import Foundation
import GStreamer
import Synchronization

/// Where the processes of one user of the machine meet: a folder for each room, with a socket for each process and a file
/// for each name that somebody has there.
///
/// What a process that died has left is recognised by its locks and sockets, which the system has given up for it.
struct RoomDirectory: Sendable {
    let room: String
    let path: String

    /// Throws `notPermitted` where there can be no such folder.
    init(room: String) throws(MediaGraphError) {
        self.room = room
        let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? ""
        let base = runtime.isEmpty ? "/tmp/mediagraph-\(getuid())" : "\(runtime)/mediagraph"
        // A socket's path has room for 107 bytes, and a room's name may be anything.
        path = "\(base)/\(Self.fileName(room))"
        for folder in [base, path] {
            mkdir(folder, 0o700)
            var status = stat()
            // In /tmp anybody might have made it before.
            guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == getuid(),
                status.st_mode & 0o077 == 0
            else {
                throw .notPermitted(
                    .init("room \"\(room)\"", expected: "\(folder), a folder of this user's alone", actual: "none"))
            }
        }
    }

    /// Alone among all processes.
    func withLock<R>(_ body: () throws(MediaGraphError) -> R) throws(MediaGraphError) -> R {
        guard let lock = FileLock("\(path)/lock", waits: true) else {
            throw .internalError(.init("\(path)/lock", expected: "a file to lock"))
        }
        return try withExtendedLifetime(lock) { () throws(MediaGraphError) in try body() }
    }

    /// The name is this process's until the claim is let go; `nil` while another process has it.
    func claim(_ user: String) -> FileLock? { FileLock("\(path)/\(Self.fileName(user)).name", waits: false) }

    /// With the folder locked and the claim still held.
    func removeClaim(_ user: String) { Self.remove("\(path)/\(Self.fileName(user)).name") }

    /// Who has the room's share.
    enum ShareLock: Sendable {
        /// The user who asked, until the lock is let go.
        case granted(FileLock)
        /// This one, in another process.
        case held(by: String)
    }

    /// The file says who has it, and stays when nobody does.
    func claimShare(_ user: String) -> ShareLock {
        let path = "\(path)/share"
        guard let lock = FileLock(path, waits: false) else {
            return .held(by: (try? String(contentsOfFile: path, encoding: .utf8)) ?? "")
        }
        lock.write(user)
        return .granted(lock)
    }

    static func remove(_ path: String) { unlink(path) }

    /// A place for this process's socket that nobody has.
    func newEndpoint() -> String {
        let number = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
        return "\(path)/\(getpid()).\(number).socket"
    }

    private static let count = Atomic<Int>(0)

    /// Where processes have listened, whether or not they still do.
    var endpoints: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.filter { $0.hasSuffix(".socket") }.sorted().map { "\(path)/\($0)" }
    }

    /// Any text as a short name of a file.
    private static func fileName(_ text: String) -> String {
        let checksum = Checksum(.sha256)
        checksum.update(Array(text.utf8).span)
        return String(checksum.finish().prefix(16))
    }
}

/// A file that only one process has locked; the system unlocks it when that process ends, however it does.
final class FileLock: Sendable {
    private let descriptor: Int32

    init?(_ path: String, waits: Bool) {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, waits ? LOCK_EX : LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            return nil
        }
    }

    /// In place of what the file held.
    func write(_ text: String) {
        ftruncate(descriptor, 0)
        var text = text
        _ = text.withUTF8 { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    deinit { close(descriptor) }
}
