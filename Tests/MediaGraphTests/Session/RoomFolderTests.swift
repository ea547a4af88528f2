import Foundation
import GStreamer
import LocalSockets
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests who may use a room's folder and sockets, and what happens if the folder is removed, opened or locked.
@Suite struct RoomFolderTests {
    init() throws { try Nodes.register() }

    // MARK: Other users of the machine

    /// Starts a program as another user of this machine, which only root can do.
    private static func asNobody(_ python: String, _ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments =
            ["--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", python] + arguments
        // The tests' own output would otherwise stay open as long as this program.
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        try process.run()
        return process
    }

    private static let isRoot = getuid() == 0

    @Test(
        "SE-3 a socket of another user in the room's folder is refused",
        .enabled(if: isRoot, "only root can be two users"))
    func impostor() throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o777)
        let socketPath = folder.file("1.socket")
        let impostor = try Self.asNobody(
            """
            import socket, sys, time
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.bind(sys.argv[1]); s.listen(); time.sleep(600)
            """, [socketPath])
        defer {
            kill(impostor.processIdentifier, SIGKILL)
            impostor.waitUntilExit()
        }
        var message = ""
        #expect(
            waitUntil {
                do throws(LocalSocket.Failure) {
                    _ = try LocalSocket.connected(to: socketPath)
                    message = "connected"
                } catch { message = error.description }
                return message.contains("65534") || message == "connected"
            })
        #expect(message == "the socket belongs to another user of this machine (uid 65534; this process has uid 0)")
    }

    @Test(
        "SE-3 another user of the machine who connects to a room's socket is turned away",
        .enabled(if: isRoot, "only root can be two users"))
    func stranger() throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o777)
        let socketPath = folder.file("1.socket")
        let listener = try LocalSocket.listening(at: socketPath)
        chmod(socketPath, 0o777)
        let stranger = try Self.asNobody(
            """
            import socket, sys
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1]); s.recv(1)
            """, [socketPath])
        guard case .refused(let user) = listener.accept(timeout: .seconds(60)) else {
            kill(stranger.processIdentifier, SIGKILL)
            Issue.record("the stranger was accepted")
            return
        }
        #expect(user == 65534)
        stranger.waitUntilExit()
    }

    // MARK: The room's folder

    @Test("SE-3 programs find each other and keep their names even if the room's folder is removed")
    func removedFolder() throws {
        let room = #function
        let (first, second, third) = (OtherRoom(), OtherRoom(), OtherRoom())
        let (early, late) = try OtherRoom.links(room, first, second)
        do {
            // The lock keeps links from entering the folder again during the removal.
            let lock = try #require(try FileLock("\(RoomDirectory.base)/lock", .init(limit: .seconds(60))))
            try FileManager.default.removeItem(atPath: RoomDirectory(room: room).path)
            withExtendedLifetime(lock) {}
        }
        let new = try RoomLink.started(room, third)
        #expect(waitUntil { first.warnings.all.count == 1 && second.warnings.all.count == 1 })
        #expect(waitUntil { first.shareLosses.all.count == 1 })
        #expect(
            first.warnings.all[0].hasSuffix("was removed while in use; it has been recreated"))
        var error: MediaGraphError?
        do throws(MediaGraphError) { try new.claimed("bob") } catch let thrown { error = thrown }
        #expect(error?.code == .alreadyInUse)
        try new.claimed("carol")
        #expect(waitUntil { third.users.all.sorted() == ["alice", "bob"] }, "\(third.users.all)")
        #expect(
            waitUntil { first.users.all == ["alice", "carol"] && second.users.all == ["bob", "carol"] },
            "\(first.users.all) \(second.users.all)")
        for link in [new, late, early] { link.stop() }
        #expect(RoomDirectory(room: room).endpoints == [])
    }

    /// A link whose room's folder was removed, and which couldn't claim bob's name again, since then `obstacle` was in the
    /// way. By its clock no time limit ever ends; `waits` counts the waits for the lock of all rooms.
    private struct Unclaimed {
        let folder: TemporaryFolder
        let base: String
        let directory: RoomDirectory
        let room = OtherRoom()
        let link: RoomLink
        let time = StandingTime()

        init() throws {
            folder = try TemporaryFolder()
            base = folder.file("rooms")
            directory = RoomDirectory(room: "r", base: base, clock: TimerClock(time))
            link = RoomLink(in: directory, delegate: room)
            #expect(try link.enter())
            try link.claimed("bob")
            let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            let obstacle = "\(directory.path)/\(try #require(files.first { $0.hasSuffix(".name") }))"
            try FileManager.default.removeItem(atPath: directory.path)
            for path in [directory.path, obstacle] { #expect(mkdir(path, 0o700) == 0) }
            link.findPeers()
            let warnings = room.warnings.all
            #expect(warnings.count == 1 && warnings[0].contains("can't be locked"), "\(warnings)")
            #expect(rmdir(obstacle) == 0)
        }
    }

    /// A time that never passes, and counts how often it is read.
    private final class StandingTime: VirtualTime {
        private let count = Atomic(0)
        var looks: Int { count.load(ordering: .relaxed) }
        var now: UInt64 {
            count.add(1, ordering: .relaxed)
            return 0
        }
        func beginWait(until deadline: UInt64, _ wake: @escaping @Sendable () -> Void) -> Int { 0 }
        func endWait(_ number: Int) {}
    }

    @Test("SE-3 a user who leaves after the room's folder was removed, and joins again, has the name")
    func rejoinAfterRemoval() throws {
        let scene = try Unclaimed()
        scene.link.leave("bob")
        try scene.link.claimed("bob")
        scene.link.findPeers()
        #expect(try scene.directory.claim("bob") == nil)
        // The process's own claim isn't taken for another program's.
        #expect(scene.room.warnings.all.count == 1, "\(scene.room.warnings.all)")
        scene.link.stop()
    }

    @Test("SE-3 a user who joins again while the name is being claimed again isn't refused because of that")
    func rejoinMeanwhile() throws {
        let scene = try Unclaimed()
        let held = Mutex(try FileLock("\(scene.base)/lock"))
        #expect(held.withLock { $0 } != nil)
        let before = scene.time.looks
        let looking = NativeThread("looking") { [link = scene.link] in link.findPeers() }
        // The thread looks at the clock again and again only while it waits for the lock.
        #expect(waitUntil { scene.time.looks > before + 10 })
        scene.link.leave("bob")
        let reports = Log<String>()
        scene.link.join("bob", UserProfile(), sending: SendSettings()) { outcome in
            if case .joined = outcome { reports.add("joined") } else { reports.add("\(outcome)") }
        }
        held.withLock { $0 = nil }
        looking.join()
        #expect(waitUntil { reports.all == ["joined"] }, "\(reports.all)")
        #expect(try scene.directory.claim("bob") == nil)
        #expect(scene.room.warnings.all.count == 1, "\(scene.room.warnings.all)")
        scene.link.stop()
    }

    @Test("SE-3 if others can write to the room's folder, new connections stop with one warning")
    func openFolder() throws {
        let room = #function
        let first = OtherRoom()
        let directory = RoomDirectory(room: room)
        let other = try directory.enter()
        let link = RoomLink(in: directory, delegate: first)
        #expect(try link.enter())
        chmod(directory.path, 0o777)
        for _ in 0..<3 { link.findPeers() }
        #expect(first.warnings.all.count == 1 && first.warnings.all[0].contains("777"), "\(first.warnings.all)")
        guard case .nobody = other.socket.accept(timeout: .zero) else {
            Issue.record("the link connected")
            return
        }
        chmod(directory.path, 0o700)
        link.findPeers()
        guard case .connected = other.socket.accept(timeout: .zero) else {
            Issue.record("the link didn't connect")
            return
        }
        link.stop()
        other.socket.close()
        directory.leave(other.endpoint)
    }

    @Test("SE-3 the error for a lock that a stopped program holds for 3 s names the program")
    func heldLock() throws {
        let folder = try TemporaryFolder()
        let base = folder.file("rooms")
        let time = VirtualClock()
        let directory = RoomDirectory(room: "r", base: base, clock: TimerClock(time))
        let entry = try directory.enter()
        let lock = try #require(try FileLock("\(base)/lock"))
        // Time passes whenever the waiting thread looks at the lock.
        func failure(while isWanted: @escaping @Sendable () -> Bool = { true }) -> MediaGraphError? {
            do throws(MediaGraphError) {
                _ = try directory.enter {
                    time.advance(by: .milliseconds(100))
                    return isWanted()
                }
                return nil
            } catch { return error }
        }
        let start = time.now
        let error = try #require(failure())
        #expect(error.code == .timeOut && "\(error)".contains("kill -CONT \(getpid())"), "\(error)")
        // Nothing is ever written to the file: that would make all other programs wait for the disk.
        #expect(try Data(contentsOf: URL(fileURLWithPath: "\(base)/lock")).isEmpty)
        #expect(time.now - start == RoomDirectory.lockTimeout.nanoseconds)
        // A wait that nobody wants any more ends before.
        let end = time.now + 500_000_000
        #expect(failure(while: { time.now < end }) != nil)
        #expect(time.now == end)
        withExtendedLifetime((entry, lock)) {}
    }

    @Test("SE-3 a stopped program delays no user who leaves, and no link that stops")
    func heldLockWhileLeaving() throws {
        let folder = try TemporaryFolder()
        let base = folder.file("rooms")
        // By this clock, no time limit ever ends.
        let directory = RoomDirectory(room: "r", base: base, clock: TimerClock(VirtualClock()))
        let link = try RoomLink.started(in: directory, OtherRoom())
        try link.claimed("bob")
        let held = Mutex(try FileLock("\(base)/lock"))
        #expect(held.withLock { $0 } != nil)
        let reports = Log<String>()
        link.join("alice", UserProfile(), sending: SendSettings()) { _ in reports.add("first") }
        link.leave("bob")
        link.leave("alice")
        // The same name again, while the first claim ends.
        link.join("alice", UserProfile(), sending: SendSettings()) { outcome in
            if case .joined = outcome { reports.add("second") }
        }
        #expect(reports.all == [])
        held.withLock { $0 = nil }
        #expect(waitUntil { reports.all == ["second"] }, "\(reports.all)")
        link.leave("alice")
        try held.withLock { $0 = try FileLock("\(base)/lock", .init(limit: .seconds(60))) }
        #expect(held.withLock { $0 } != nil)
        link.stop()
        #expect(directory.endpoints == [] && access(directory.path, F_OK) == 0)
        held.withLock { $0 = nil }
        #expect(waitUntil { access(directory.path, F_OK) != 0 })
    }

    @Test("SE-9 a user who shares keeps the room's share after the folder was removed")
    func removedShare() throws {
        let folder = try TemporaryFolder()
        // Here, no other test removes a folder without a socket.
        let directory = RoomDirectory(room: "r", base: folder.file("rooms"))
        let entry = try directory.enter()
        let floor = ShareFloor()
        func claim(_ user: String) throws(MediaGraphError) -> ShareDecision { try directory.claimShare(user) }
        _ = try floor.take(StreamKey(user: "bob", kind: .share)) { () throws(MediaGraphError) in try claim("bob") }
        try FileManager.default.removeItem(atPath: directory.path)
        try floor.renew { (user) throws(MediaGraphError) in try claim(user) }
        // The file is in its place now.
        try floor.renew { (user) throws(MediaGraphError) in try claim(user) }
        guard case .sharedBy(let user) = try directory.claimShare("alice") else {
            Issue.record("two users share at the same time")
            return
        }
        #expect(user == "bob")
        withExtendedLifetime(floor) {}
        entry.socket.close()
        directory.leave(entry.endpoint)
    }

    @Test("SE-9 the share is taken in a folder that other programs remove because no socket is in it")
    func shareInVanishingFolder() throws {
        let folder = try TemporaryFolder()
        let base = folder.file("rooms")
        let (directory, other) = (RoomDirectory(room: "a", base: base), RoomDirectory(room: "b", base: base))
        try other.enter().socket.close()
        let isDone = Atomic<Bool>(false)
        let cleaner = NativeThread("cleaner") {
            while !isDone.load(ordering: .acquiring) {
                guard let entry = try? other.enter() else { continue }
                entry.socket.close()
                other.leave(entry.endpoint)
            }
        }
        defer {
            isDone.store(true, ordering: .releasing)
            cleaner.join()
        }
        // The other thread also locks the file for a moment, before it removes it.
        for _ in 0..<2000 {
            while case .sharedBy = try directory.claimShare("bob") {}
        }
    }

    @Test("SE-3 a program whose socket alone was removed keeps its users' names, without a warning about them")
    func removedSocket() throws {
        let (first, second) = (OtherRoom(), OtherRoom())
        let (early, late) = try OtherRoom.links(#function, first, second)
        let directory = RoomDirectory(room: #function)
        for endpoint in directory.endpoints { #expect(unlink(directory.socketPath(of: endpoint)) == 0) }
        // The last thing that a link does when it enters the folder again.
        #expect(waitUntil { [first, second].allSatisfy { !$0.shareLosses.all.isEmpty } })
        for room in [first, second] {
            #expect(!room.warnings.all.contains { $0.contains("taken the name") }, "\(room.warnings.all)")
        }
        #expect(try directory.claim("bob") == nil)
        for link in [late, early] { link.stop() }
    }

    @Test("SE-4 a message whose file can't be attached isn't sent without the file")
    func unattachable() throws {
        let folder = try TemporaryFolder()
        let listener = try LocalSocket.listening(at: folder.file("s"))
        let socket = try LocalSocket.connected(to: folder.file("s"))
        // No file has this number; `dup` fails, as it does in a process without a free one.
        #expect(socket.send(Data([1]), descriptor: .max) == .full)
        withExtendedLifetime(listener) {}
    }
}
