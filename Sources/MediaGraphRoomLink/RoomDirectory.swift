import Foundation
import GStreamer
import LocalSockets
import MediaGraphCore
import MediaGraphSession

/// The folder of a room, in which the processes of one user of the machine find each other. It contains a socket for
/// each process and a lock file for each user name in the room.
///
/// Leftovers of a process that died are recognized by their locks and sockets, which the system has released. A process
/// holds one lock for all rooms while it creates or removes files that other processes look for.
package struct RoomDirectory: Sendable {
    let room: String
    private let base: String
    let path: String

    /// The clock of the room's time limits and intervals.
    let clock: TimerClock

    /// How long to wait for the lock of all rooms. A process holds it for milliseconds, unless it is suspended.
    static let lockTimeout = Duration.seconds(3)

    init(room: String, base: String = Self.base, clock: TimerClock = .system) {
        self.room = room
        self.base = base
        self.clock = clock
        path = "\(base)/\(Self.fileName(room))"
    }

    /// The folder that contains the folders of all rooms.
    static var base: String {
        let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? ""
        return runtime.isEmpty ? "/tmp/mediagraph-\(getuid())" : "\(runtime)/mediagraph"
    }

    // MARK: Availability

    /// Why this program can't meet others in any room; `nil` if it can.
    package static var problem: MediaGraphError? {
        do throws(MediaGraphError) {
            try prepare(base)
            try check(RoomDirectory(room: "").socketPath(of: 1))
            return nil
        } catch { return error }
    }

    /// What the user can do about `problem`.
    package static var mend: String {
        "set XDG_RUNTIME_DIR to a folder that is yours alone and has a short path, such as /run/user/\(getuid())"
    }

    /// Creates a folder unless it exists, and checks it.
    private static func prepare(_ folder: String) throws(MediaGraphError) {
        let failure = mkdir(folder, 0o700) == 0 ? 0 : errno
        try check(folder: folder, failure)
    }

    /// Throws `notPermitted` unless the folder exists and only this user can access it. `failure` is the error code to
    /// report if it doesn't exist.
    private static func check(folder: String, _ failure: Int32) throws(MediaGraphError) {
        var status = stat()
        let actual: String
        // In /tmp, another user may have created the folder.
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

    /// Throws `notPermitted` if the path is too long for a socket.
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

    /// A process's entry in the room's folder.
    struct Entry: Sendable {
        /// The process's number in the room. Later processes have greater numbers.
        let endpoint: Int
        /// The socket to which other processes connect.
        let socket: LocalSocket
        fileprivate let device: dev_t
        fileprivate let inode: ino_t
    }

    /// Enters this process into the room's folder, with a number greater than those of all processes there. Also
    /// removes what dead processes have left in this room and others. Throws if the folders, the lock or the socket
    /// can't be made, and `timeOut` if another process doesn't release the lock.
    ///
    /// - Parameters:
    ///   - former: The number that this process had before the folder was removed, by which other processes know it.
    ///     The process gets it again if it is free.
    ///   - isWanted: Ends the wait for the lock when it returns false.
    func enter(
        again former: Int? = nil, while isWanted: @escaping @Sendable () -> Bool = { true }
    ) throws(MediaGraphError) -> Entry {
        try Self.prepare(base)
        return try withLock(while: isWanted) { () throws(MediaGraphError) in
            for room in Self.files(base) where room != Self.lockName { Self.removeRemains(of: "\(base)/\(room)") }
            let taken = endpoints
            // Milliseconds rather than 1, 2, 3, so that a process that joins after the folder was removed doesn't get
            // the number of an earlier one.
            let next = max((taken.max() ?? 0) + 1, Int(clock.now / 1_000_000))
            let endpoint = former.flatMap { taken.contains($0) ? nil : $0 } ?? next
            let file = socketPath(of: endpoint)
            // Before creating a folder that couldn't be used.
            try Self.check(file)
            try Self.prepare(path)
            do throws(LocalSocket.Failure) {
                let socket = try LocalSocket.listening(at: file)
                var status = stat()
                _ = lstat(file, &status)
                return Entry(endpoint: endpoint, socket: socket, device: status.st_dev, inode: status.st_ino)
            } catch {
                throw .notPermitted(.init(file, actual: "the socket can't be created: \(error)"))
            }
        }
    }

    /// Whether other processes can still find this process, since the folder may have been removed.
    func has(_ entry: Entry) -> Bool {
        var status = stat()
        return lstat(socketPath(of: entry.endpoint), &status) == 0
            && (status.st_dev, status.st_ino) == (entry.device, entry.inode)
    }

    /// Throws `notPermitted` if other users can access the folders by now: a socket found there may be another user's.
    func checkFolders() throws(MediaGraphError) {
        for folder in [base, path] { try Self.check(folder: folder, ENOENT) }
    }

    /// Removes this process's socket, and the room's folder if no process is left. If another process holds the lock,
    /// the folder is removed later, so that this never waits.
    func leave(_ endpoint: Int) {
        unlink(socketPath(of: endpoint))
        if removeFolder(.none) { return }
        NativeThread("room-removal") { [self] in
            // If this fails, the next process that enters a room does it.
            _ = removeFolder(FileLock.Wait(limit: Self.lockTimeout, clock: clock))
        }.detach()
    }

    /// Removes the room's folder if no process is left. Returns false if another process holds the lock.
    private func removeFolder(_ wait: FileLock.Wait) -> Bool {
        do throws(MediaGraphError) {
            guard let lock = try FileLock(lockPath, wait) else { return false }
            withExtendedLifetime(lock) { Self.removeRemains(of: path) }
        } catch {
            // The folder of all rooms is gone, and this room's folder with it.
        }
        return true
    }

    /// The path of a process's socket.
    func socketPath(of endpoint: Int) -> String { "\(path)/\(endpoint)\(Self.socketSuffix)" }

    /// The numbers of all processes in the room, including dead ones, in the order in which they entered.
    var endpoints: [Int] {
        Self.files(path).filter { $0.hasSuffix(Self.socketSuffix) }
            .compactMap { Int($0.dropLast(Self.socketSuffix.count)) }.sorted()
    }

    // MARK: Names

    /// Claims a user name for this process, until the returned lock is released. `nil` if another process has the name.
    /// Throws `timeOut` if another process doesn't release the lock of all rooms. The wait for that lock ends when
    /// `isWanted` returns false.
    func claim(
        _ user: String, while isWanted: @escaping @Sendable () -> Bool = { true }
    ) throws(MediaGraphError) -> FileLock? {
        try withLock(while: isWanted) { () throws(MediaGraphError) in
            // The folder may have been removed since this process entered the room.
            try Self.prepare(path)
            return try FileLock("\(path)/\(Self.fileName(user))\(Self.nameSuffix)")
        }
    }

    /// Claims the room's share for a user.
    ///
    /// The process whose user shares holds a lock on a file; the system releases the lock when the process ends. The
    /// file contains that user's name, and isn't removed when nobody shares.
    func claimShare(_ user: String) throws(MediaGraphError) -> ShareDecision {
        let file = "\(path)/\(Self.shareName)"
        var attempts = 0
        while true {
            do throws(MediaGraphError) {
                try Self.prepare(path)
                guard let lock = try FileLock(file) else {
                    return .sharedBy((try? String(contentsOfFile: file, encoding: .utf8)) ?? "")
                }
                lock.write(user)
                return .granted(lock)
            } catch {
                // A process that enters another room removes a folder without a socket, such as one just made here.
                attempts += 1
                guard attempts < Self.maximumAttempts else { throw error }
            }
        }
    }

    /// How often a folder that other processes remove is made again.
    private static let maximumAttempts = 100

    // MARK: Files

    private static let (lockName, shareName, socketSuffix, nameSuffix) = ("lock", "share", ".socket", ".name")

    private var lockPath: String { "\(base)/\(Self.lockName)" }

    /// Runs `body` with the lock of all rooms held. Throws `timeOut` if another process doesn't release the lock.
    private func withLock<R: Sendable>(
        while isWanted: @escaping @Sendable () -> Bool, _ body: () throws(MediaGraphError) -> R
    ) throws(MediaGraphError) -> R {
        let path = lockPath
        let wait = FileLock.Wait(limit: Self.lockTimeout, clock: clock, isWanted: isWanted)
        guard let lock = try FileLock(path, wait) else {
            throw .timeOut(
                .init(
                    path,
                    actual: FileLock.holder(of: path).map {
                        "process \($0) holds this lock and isn't responding; resume it (kill -CONT \($0)) or end it"
                    }
                        ?? "another program holds this lock and isn't responding; find it with `fuser \(path)`, then resume or end it"
                ))
        }
        return try withExtendedLifetime(lock) { () throws(MediaGraphError) in try body() }
    }

    /// Removes what dead processes have left in a room's folder, and the folder if it is empty. Called with the lock
    /// held.
    private static func removeRemains(of room: String) {
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

    /// Returns a short file name for any text, made from its checksum.
    private static func fileName(_ text: String) -> String {
        let checksum = Checksum(.sha256)
        checksum.update(Array(text.utf8).span)
        return String(checksum.finish().prefix(16))
    }
}
