import Foundation
import GStreamer
import LocalSockets
import MediaGraphCore
import MediaGraphSession

/// Where the processes of one user of the machine meet: a folder for each room, with a socket for each process and a file
/// for each name that somebody has there.
///
/// What a process that died has left is recognised by its locks and sockets, which the system has given up for it. One lock
/// for all rooms is held by whoever makes or removes something that others look for.
package struct RoomDirectory: Sendable {
    let room: String
    private let base: String
    let path: String

    /// How long another process may hold the lock, in nanoseconds: it takes milliseconds, unless that process is stopped.
    private let lockTimeout: UInt64

    init(room: String, base: String = Self.base, lockTimeout: UInt64 = 3_000_000_000) {
        self.room = room
        self.base = base
        self.lockTimeout = lockTimeout
        path = "\(base)/\(Self.fileName(room))"
    }

    static var base: String {
        let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? ""
        return runtime.isEmpty ? "/tmp/mediagraph-\(getuid())" : "\(runtime)/mediagraph"
    }

    // MARK: Whether programs can meet

    /// Why this program can't meet others in any room; `nil` where it can.
    package static var problem: MediaGraphError? {
        do throws(MediaGraphError) {
            try prepare(base)
            try check(RoomDirectory(room: "").place(of: 1))
            return nil
        } catch { return error }
    }

    /// What to do about it.
    package static var mend: String {
        "set XDG_RUNTIME_DIR to a folder that is yours alone and has a short path, such as /run/user/\(getuid())"
    }

    private static func prepare(_ folder: String) throws(MediaGraphError) {
        let failure = mkdir(folder, 0o700) == 0 ? 0 : errno
        try check(folder: folder, failure)
    }

    /// Throws for a folder that isn't this user's alone, and with `failure` for none.
    private static func check(folder: String, _ failure: Int32) throws(MediaGraphError) {
        var status = stat()
        let actual: String
        // In /tmp anybody might have made it before.
        if lstat(folder, &status) != 0 {
            actual = String(cString: strerror(failure))
        } else if status.st_mode & S_IFMT != S_IFDIR {
            actual = "isn't a folder"
        } else if status.st_uid != getuid() {
            actual = "belongs to user \(status.st_uid)"
        } else if status.st_mode & 0o077 != 0 {
            actual = "is open to other users (mode \(String(status.st_mode & 0o777, radix: 8)))"
        } else if access(folder, W_OK | X_OK) != 0 {
            actual = String(cString: strerror(errno))
        } else {
            return
        }
        throw .notPermitted(.init(folder, actual: actual))
    }

    private static func check(_ socket: String) throws(MediaGraphError) {
        let count = socket.utf8.count
        guard count <= LocalSocket.longestPath else {
            throw .notPermitted(
                .init(
                    socket,
                    actual: "the path has \(count) bytes; a socket's path may have at most \(LocalSocket.longestPath)"))
        }
    }

    // MARK: Processes

    /// A process's place in the room.
    struct Place: Sendable {
        /// Later processes have greater numbers.
        let endpoint: Int
        /// At which others find it.
        let socket: LocalSocket
        fileprivate let device: dev_t
        fileprivate let inode: ino_t
    }

    /// A place for this process, later than all that are there. What dead processes have left, in this room and others, is
    /// removed. Throws where there can be no such place.
    ///
    /// - Parameter former: the number that it had before the folder was removed, which others know it by: it has it again where
    ///   that is free.
    func enter(again former: Int? = nil) throws(MediaGraphError) -> Place {
        try Self.prepare(base)
        return try withLock { () throws(MediaGraphError) in
            for room in Self.files(base) where room != Self.lockName { Self.tidy("\(base)/\(room)") }
            let taken = endpoints
            // Milliseconds rather than 1, 2, 3, so that a process that joins after the folder was removed doesn't get the
            // number of an earlier one.
            let next = max((taken.max() ?? 0) + 1, Int(monotonicNanoseconds() / 1_000_000))
            let endpoint = former.flatMap { taken.contains($0) ? nil : $0 } ?? next
            let place = place(of: endpoint)
            // Before there is a folder that nobody could use.
            try Self.check(place)
            try Self.prepare(path)
            do throws(LocalSocket.Failure) {
                let socket = try LocalSocket.listening(at: place)
                var status = stat()
                _ = lstat(place, &status)
                return Place(endpoint: endpoint, socket: socket, device: status.st_dev, inode: status.st_ino)
            } catch {
                throw .notPermitted(.init(place, expected: "a socket", actual: "\(error)"))
            }
        }
    }

    /// Whether others can still find the process at its place: somebody may have removed the folder meanwhile.
    func has(_ place: Place) -> Bool {
        var status = stat()
        return lstat(self.place(of: place.endpoint), &status) == 0
            && (status.st_dev, status.st_ino) == (place.device, place.inode)
    }

    /// Throws where the folders aren't this user's alone any more: whoever is found there may be another user of the machine.
    func checkFolders() throws(MediaGraphError) {
        for folder in [base, path] { try Self.check(folder: folder, ENOENT) }
    }

    /// The room's folder goes with the last.
    func leave(_ endpoint: Int) {
        unlink(place(of: endpoint))
        // Where that fails, whoever comes next does it.
        try? withLock { () throws(MediaGraphError) in Self.tidy(path) }
    }

    func place(of endpoint: Int) -> String { "\(path)/\(endpoint)\(Self.socketSuffix)" }

    /// Those of all processes in the room, dead ones' too, from the first who came to the last.
    var endpoints: [Int] {
        Self.files(path).filter { $0.hasSuffix(Self.socketSuffix) }
            .compactMap { Int($0.dropLast(Self.socketSuffix.count)) }.sorted()
    }

    // MARK: Names

    /// The name is this process's until the claim is let go; `nil` while another process has it.
    func claim(_ user: String) throws(MediaGraphError) -> FileLock? {
        try withLock { () throws(MediaGraphError) in
            // It may have been removed since this process entered.
            try Self.prepare(path)
            return try FileLock("\(path)/\(Self.fileName(user))\(Self.nameSuffix)")
        }
    }

    /// The process whose user shares holds a lock on a file; the system releases the lock when the process ends. The file contains
    /// that user's name and stays when nobody shares.
    func claimShare(_ user: String) throws(MediaGraphError) -> ShareDecision {
        try Self.prepare(self.path)
        let path = "\(path)/\(Self.shareName)"
        guard let lock = try FileLock(path) else {
            return .sharedBy((try? String(contentsOfFile: path, encoding: .utf8)) ?? "")
        }
        lock.write(user)
        return .granted(lock)
    }

    // MARK: Files

    private static let (lockName, shareName, socketSuffix, nameSuffix) = ("lock", "share", ".socket", ".name")

    /// Alone among all processes.
    private func withLock<R: Sendable>(_ body: () throws(MediaGraphError) -> R) throws(MediaGraphError) -> R {
        let path = "\(base)/\(Self.lockName)"
        guard let lock = try FileLock(path, timeout: lockTimeout) else {
            let holder = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            throw .timeOut(
                .init(
                    path,
                    actual: holder.isEmpty
                        ? "another program holds this lock and isn't responding; find it with `fuser \(path)`, then resume or end it"
                        : "process \(holder) holds this lock and isn't responding; resume it (kill -CONT \(holder)) or end it"
                ))
        }
        lock.write("\(getpid())")
        return try withExtendedLifetime(lock) { () throws(MediaGraphError) in try body() }
    }

    /// Removes what is nobody's of a room, with the lock held.
    private static func tidy(_ room: String) {
        var isEmpty = true
        for file in files(room) where file != shareName {
            let path = "\(room)/\(file)"
            if file.hasSuffix(socketSuffix) {
                if LocalSocket.isAbandoned(path) { unlink(path) } else { isEmpty = false }
            } else if file.hasSuffix(nameSuffix) {
                (try? FileLock(path))?.remove()
            }
        }
        guard isEmpty else { return }
        (try? FileLock("\(room)/\(shareName)"))?.remove()
        rmdir(room)
    }

    private static func files(_ folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// Any text as a short name of a file.
    private static func fileName(_ text: String) -> String {
        let checksum = Checksum(.sha256)
        checksum.update(Array(text.utf8).span)
        return String(checksum.finish().prefix(16))
    }
}
