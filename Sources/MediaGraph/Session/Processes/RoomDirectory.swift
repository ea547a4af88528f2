import Foundation
import GStreamer

/// Where the processes of one user of the machine meet: a folder for each room, with a socket for each process and a file
/// for each name that somebody has there.
///
/// What a process that died has left is recognised by its locks and sockets, which the system has given up for it. One lock
/// for all rooms is held by whoever makes or removes something that others look for.
package struct RoomDirectory: Sendable {
    let room: String
    private let base: String
    let path: String

    init(room: String) {
        self.room = room
        base = Self.base
        path = "\(base)/\(Self.fileName(room))"
    }

    private static var base: String {
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
        var status = stat()
        let actual: String
        // In /tmp anybody might have made it before.
        if lstat(folder, &status) != 0 {
            actual = String(cString: strerror(failure))
        } else if status.st_mode & S_IFMT != S_IFDIR {
            actual = "what is no folder"
        } else if status.st_uid != getuid() {
            actual = "one of user \(status.st_uid)"
        } else if status.st_mode & 0o077 != 0 {
            actual = "one that others may enter (mode \(String(status.st_mode & 0o777, radix: 8)))"
        } else if access(folder, W_OK | X_OK) != 0 {
            actual = String(cString: strerror(errno))
        } else {
            return
        }
        throw .notPermitted(.init(folder, expected: "a folder of this user's alone", actual: actual))
    }

    private static func check(_ socket: String) throws(MediaGraphError) {
        let count = socket.utf8.count
        guard count <= LocalSocket.longestPath else {
            throw .notPermitted(
                .init(
                    socket, expected: "a path of \(LocalSocket.longestPath) bytes at most, as sockets have",
                    actual: "\(count)"))
        }
    }

    // MARK: Processes

    /// This process's place in the room, later than all that are there, and the socket at which others find it. What dead
    /// processes have left, in this room and others, is removed. Throws where there can be no such place.
    func enter() throws(MediaGraphError) -> (endpoint: Int, socket: LocalSocket) {
        try Self.prepare(base)
        return try withLock { () throws(MediaGraphError) in
            for room in Self.files(base) where room != Self.lockName { Self.tidy("\(base)/\(room)") }
            let endpoint = (endpoints.max() ?? 0) + 1
            let place = place(of: endpoint)
            // Before there is a folder that nobody could use.
            try Self.check(place)
            try Self.prepare(path)
            do throws(LocalSocket.Failure) { return (endpoint, try LocalSocket.listening(at: place)) } catch {
                throw .notPermitted(.init(place, expected: "a socket", actual: "\(error)"))
            }
        }
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
            .compactMap { UInt32($0.dropLast(Self.socketSuffix.count)).map(Int.init) }.sorted()
    }

    // MARK: Names

    /// The name is this process's until the claim is let go; `nil` while another process has it.
    func claim(_ user: String) throws(MediaGraphError) -> FileLock? {
        try withLock { () throws(MediaGraphError) in try FileLock("\(path)/\(Self.fileName(user))\(Self.nameSuffix)") }
    }

    /// Who has the room's share.
    enum ShareLock: Sendable {
        /// The user who asked, until the lock is let go.
        case granted(FileLock)
        /// This one, in another process.
        case held(by: String)
    }

    /// The file says who has it, and stays when nobody does.
    func claimShare(_ user: String) throws(MediaGraphError) -> ShareLock {
        let path = "\(path)/\(Self.shareName)"
        guard let lock = try FileLock(path) else {
            return .held(by: (try? String(contentsOfFile: path, encoding: .utf8)) ?? "")
        }
        lock.write(user)
        return .granted(lock)
    }

    // MARK: Files

    private static let (lockName, shareName, socketSuffix, nameSuffix) = ("lock", "share", ".socket", ".name")

    /// Alone among all processes.
    private func withLock<R: Sendable>(_ body: () throws(MediaGraphError) -> R) throws(MediaGraphError) -> R {
        let path = "\(base)/\(Self.lockName)"
        guard let lock = try FileLock(path, timeout: 10_000_000_000) else {
            throw .timeOut(.init(path, expected: "a lock within 10 s", actual: "another process, which keeps it"))
        }
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
