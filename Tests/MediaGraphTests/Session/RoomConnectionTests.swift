import Dispatch
import Foundation
import GStreamer
import Glibc
import LocalSockets
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests the connections between a room's processes: sockets, locks, invalid data and dead processes.
@Suite struct RoomConnectionTests {
    init() throws { try Nodes.register() }

    @Test("SE-4 messages that don't fit into a full socket wait in order, before any buffer")
    func fullSocket() throws {
        let folder = try TemporaryFolder()
        let listener = try LocalSocket.listening(at: folder.file("socket"))
        let outbox = PeerOutbox(try LocalSocket.connected(to: folder.file("socket")))
        guard case .connected(let other) = listener.accept(timeout: .seconds(60)) else {
            Issue.record("no connection arrived")
            return
        }
        let buffer = Data([1])
        var expected: [Data] = []
        while outbox.offer(buffer, descriptor: nil) { expected.append(buffer) }
        let messages = (0..<2000).map { PeerMessage.joined("user \($0)", UserProfile()).bytes }
        for message in messages { outbox.send(message) }
        for memory in UInt64(0)..<2500 { outbox.release(memory) }
        #expect(!outbox.offer(buffer, descriptor: nil))
        for memories in [0..<1000, 1000..<2000, UInt64(2000)..<2500] {
            expected.append(BufferMessage.release(memories: Array(memories)).bytes)
        }
        expected += messages
        var read: [Data] = []
        while read.count < expected.count, let (message, _) = other.receive() { read.append(message) }
        #expect(read == expected)
        #expect(waitUntil { outbox.offer(buffer, descriptor: nil) })
        #expect(other.receive()?.message == buffer)
        // A process that never reads is given up.
        var count = 0
        while count < PeerOutbox.limit, outbox.offer(buffer, descriptor: nil) { count += 1 }
        let sent = PeerOutbox.limit / messages[0].count + 1
        for _ in 0..<sent { outbox.send(messages[0]) }
        // The connection ends before everything has arrived.
        var rest = count + sent
        while rest > 0, other.receive() != nil { rest -= 1 }
        #expect(rest > 0 && !outbox.offer(buffer, descriptor: nil))
    }

    @Test("SE-4 a message of more than 64 KiB arrives whole, and one that is too long is refused")
    func longMessages() throws {
        let folder = try TemporaryFolder()
        let listener = try LocalSocket.listening(at: folder.file("socket"))
        let socket = try LocalSocket.connected(to: folder.file("socket"))
        guard case .connected(let other) = listener.accept(timeout: .seconds(60)) else {
            Issue.record("no connection arrived")
            return
        }
        for length in [1, 65536, 65537, 100_000] {
            let message = Data((0..<length).map { UInt8(truncatingIfNeeded: $0 / 3) })
            #expect(socket.send(message) == .sent)
            #expect(other.receive()?.message == message)
        }
        #expect(socket.send(Data(count: 10_000_000)) == .tooLong)
        #expect(socket.send(Data([1])) == .sent)
        #expect(other.receive()?.message == Data([1]))
    }

    @Test("SE-4 a process is reconnected after it sent invalid data, unless its version differs")
    func nonsense() throws {
        let directory = RoomDirectory(room: #function)
        let entry = try directory.enter()
        let other = OtherRoom()
        let link = try RoomLink.started(#function, other)
        func accepted(_ timeout: Duration) -> LocalSocket? {
            guard case .connected(let socket) = entry.socket.accept(timeout: timeout) else { return nil }
            return socket
        }
        // A frame of 16×16 pixels whose last plane lies outside of its memory.
        let memory = try #require(SharedMemory(size: 384))
        guard let frame = Buffer(filledWith: 1, count: 384) else {
            Issue.record("no memory")
            return
        }
        var shared = SharedBuffer(frame.access, in: 1, capacity: 384, timing: .machine(latency: .zero))
        shared.layout = VideoLayout(words: [2, 16 << 32 | 16, 0, 16, 256, 8, 1 << 20, 8])
        let outside = BufferMessage.buffer(other.bobs.key, shared).bytes
        for (round, nonsense) in [(Data("nonsense".utf8), nil), (outside, memory.descriptor)].enumerated() {
            let socket = try #require(accepted(.seconds(60)))
            _ = socket.send(PeerMessage.hello(version: PeerMessage.version).bytes)
            _ = socket.send(PeerMessage.joined("bob", UserProfile()).bytes)
            #expect(waitUntil { other.users.all.count == round * 2 + 1 })
            _ = socket.send(nonsense.0, descriptor: nonsense.1)
            #expect(waitUntil { other.users.all.count == round * 2 + 2 })
        }
        #expect(other.users.all == ["bob", "-bob", "bob", "-bob"])
        let socket = try #require(accepted(.seconds(60)))
        _ = socket.send(PeerMessage.hello(version: PeerMessage.version + 1).bytes)
        while socket.receive() != nil {}
        // The connection may end a moment before the link knows why.
        #expect(waitUntil { link.hasStrangers })
        while accepted(.zero) != nil {}
        for _ in 0..<3 { link.findPeers() }
        #expect(accepted(.zero) == nil && other.users.all.count == 4)
        link.stop()
        directory.leave(entry.endpoint)
    }

    @Test("SE-4 a process too busy to accept stays in the room, and one that has died doesn't")
    func busy() throws {
        let directory = RoomDirectory(room: #function)
        var busy: RoomDirectory.Entry? = try directory.enter()
        let first = try #require(busy).endpoint
        var waiting: [LocalSocket] = []
        while waiting.count < 1000, let next = try? LocalSocket.connected(to: directory.socketPath(of: first)) {
            waiting.append(next)
        }
        #expect(waiting.count < 1000)
        let link = try RoomLink.started(#function, OtherRoom())
        let endpoints = directory.endpoints
        #expect(endpoints.count == 2 && endpoints[0] == first)
        busy = nil
        waiting = []
        _ = busy
        // The next process that enters any room cleans up.
        let another = RoomDirectory(room: "another than \(#function)")
        let entry = try another.enter()
        #expect(directory.endpoints == [endpoints[1]])
        another.leave(entry.endpoint)
        link.stop()
        #expect(directory.endpoints == [] && another.endpoints == [])
    }

    @Test("SE-3 a lock reports whether another process holds it or something else is wrong")
    func lock() throws {
        let folder = try TemporaryFolder()
        let held = try #require(try FileLock(folder.file("a")))
        #expect(try FileLock(folder.file("a")) == nil)
        held.remove()
        #expect(try FileLock(folder.file("a")) != nil)
        do throws(MediaGraphError) {
            _ = try FileLock(folder.file("none/a"))
            Issue.record("locked in a folder that doesn't exist")
        } catch { #expect(error.detail.actual == "can't be locked: No such file or directory") }
    }

    @Test("SE-4 a forwarder that is stopped before its start never starts")
    func stoppedBeforeStarted() {
        let stream = RoomStream(StreamKey(user: "bob", kind: .camera), room: "none")
        let forwarder = StreamForwarder(stream)
        forwarder.stop()
        forwarder.start()
        #expect(stream.demand == nil)
    }

    @Test("SE-4 closing a socket ends the waits on it, also those that begin later")
    func closing() throws {
        let folder = try TemporaryFolder()
        let listener = try LocalSocket.listening(at: folder.file("socket"))
        let socket = try LocalSocket.connected(to: folder.file("socket"))
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.2) { socket.close() }
        #expect(socket.receive() == nil)
        #expect(!socket.waitForRoom())
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.2) { listener.close() }
        // The connection above is still pending.
        _ = listener.accept(timeout: .seconds(60))
        while case .connected = listener.accept(timeout: .seconds(60)) {}
        guard case .closed = listener.accept(timeout: .seconds(60)) else {
            Issue.record("not closed")
            return
        }
    }

    @Test("SE-5 a wait on a socket needs no file descriptor")
    func noDescriptor() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let listener = try LocalSocket.listening(at: folder.file("socket"))
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            while open("/dev/null", O_RDONLY) >= 0 {}
            guard case .nobody = listener.accept(timeout: .milliseconds(10)) else { exit(1) }
        }
    }
}
