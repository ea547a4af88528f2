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

/// What crosses between processes, by a room's link that stands for the other process.
@Suite struct RoomLinkTests {
    init() throws { try Nodes.register() }

    /// The other process's room.
    final class Other: RoomTransportDelegate {
        let bobs = RoomStream(StreamKey(user: "bob", kind: .camera), room: "other")
        let users = Log<String>()
        /// What is told it waits while this is so.
        let isStuck = Atomic<Bool>(false)
        func remoteJoined(_ user: String) { users.add(user) }
        func remoteLeft(_ user: String) { users.add("-\(user)") }
        func remoteStreamChanged(_ key: StreamKey, isOn: Bool) {
            while isStuck.load(ordering: .acquiring) { sleepBriefly() }
        }
        let warnings = Log<String>()
        func warn(_ text: String) { warnings.add(text) }
        let shareLosses = Log<Bool>()
        func shareGrantLost() { shareLosses.add(true) }
        func stream(_ key: StreamKey) -> RoomStream { bobs }
    }

    @Test(
        "SE-3 between processes goes what the readers of the other want: as high as the most demanding, nothing for none"
    )
    func demand() async throws {
        let room = #function
        let graph = try Graph("videosource name=camera ! call.camera  mediasession name=call room=\"\(room)\" user=bob")
        let source = RecordingSource()
        try graph.videoSource("camera").attach(source)
        try await graph.start()
        let other = Other()
        let link = try RoomLink(room: room, delegate: other)
        link.start()
        _ = try link.join("alice")
        #expect(waitUntil { other.users.all == ["bob"] })
        let key = other.bobs.key
        let sent = Room.named(room, over: .processes).stream(key)
        let readers = (0..<2).map { _ in StreamReader(bound: 2) }
        /// What a reader gets, once it is `lines` high.
        func isRead(_ lines: Int, by reader: StreamReader) -> Bool {
            waitUntil {
                try? sendNow(
                    source.sender, patternedFrame(width: 640, height: 360),
                    FrameDescription(
                        width: 640, height: 360, rotation: .clockwise90, framesPerSecond: Fraction(30, 1),
                        timestamp: source.sender.runningTime))
                while true {
                    switch reader.next(timeout: 100_000) {
                    case .buffer(let frame):
                        let buffer = frame.buffer.take()
                        let info = other.bobs.format.flatMap { VideoInfo($0.caps) }
                        if info?.height == lines, buffer.access.size == info?.size {
                            #expect(Rotation(of: buffer.access) == .clockwise90)
                            #expect(buffer.access.captureTime != nil)
                            return true
                        }
                    case .idle: return false
                    default: continue
                    }
                }
            }
        }
        #expect(sent.demand == nil)
        for reader in readers { reader.play() }
        func changed() { link.setDemand(other.bobs.demand, for: key) }
        readers[0].setDemand(.p180)
        other.bobs.add(readers[0])
        changed()
        #expect(isRead(180, by: readers[0]))
        other.bobs.add(readers[1])
        changed()
        #expect(isRead(360, by: readers[1]))
        readers[1].setDemand(.p90)
        changed()
        #expect(isRead(180, by: readers[0]))
        for reader in readers { other.bobs.remove(reader) }
        changed()
        #expect(waitUntil { sent.demand == nil })
        link.leave("alice")
        link.stop()
        await graph.stop()
    }

    @Test("SE-4 the first frame behind those that another process couldn't be shown is marked, for it alone")
    func lost() async throws {
        let room = #function
        let graph = try Graph("videosource name=camera ! call.camera  mediasession name=call room=\"\(room)\" user=bob")
        let source = RecordingSource()
        try graph.videoSource("camera").attach(source)
        try await graph.start()
        let (others, links, readers) = try Self.readers(room, bound: 100)
        func marks(_ reader: StreamReader, until condition: ([Bool]) -> Bool) -> [Bool] {
            var marks: [Bool] = []
            #expect(
                Self.sends(source) {
                    while let buffer = Self.take(reader) { marks.append(buffer.access.isDiscontinuous) }
                    return condition(marks)
                })
            return marks
        }
        for reader in readers { _ = marks(reader) { $0.count >= 3 } }
        // One of them takes nothing for a while: more than it can be shown at once.
        others[0].isStuck.store(true, ordering: .releasing)
        for state in [State.paused, .playing] { graph.pipeline.setState(state) }
        _ = marks(readers[1]) { !$0.isEmpty }
        let statistics = Room.named(room, over: .processes).stream(others[0].bobs.key).remoteStatistics
        let all = marks(readers[1]) { _ in statistics.dropped.load(ordering: .relaxed) >= 5 }
        #expect(!all.contains(true))
        others[0].isStuck.store(false, ordering: .releasing)
        let behind = marks(readers[0]) { $0.contains(true) && $0.last == false }
        #expect(behind.count { $0 } == 1 && behind.first == false)
        for link in links { link.stop() }
        await graph.stop()
    }

    /// Sends frames until `condition` holds.
    private static func sends(_ source: RecordingSource, until condition: () -> Bool) -> Bool {
        let seed = Atomic<Int>(0)
        return waitUntil {
            let number = seed.wrappingAdd(1, ordering: .relaxed).newValue
            try? sendNow(
                source.sender, patternedFrame(width: 64, height: 48, seed: number),
                FrameDescription(width: 64, height: 48, timestamp: source.sender.runningTime))
            return condition()
        }
    }

    static func take(_ reader: StreamReader) -> Buffer? {
        while true {
            switch reader.next(timeout: 100_000) {
            case .buffer(let frame): return frame.buffer.take()
            case .idle: return nil
            default: continue
            }
        }
    }

    private static func bytes(_ buffer: borrowing Buffer) -> [UInt8] {
        guard let caps = Caps("video/x-raw,format=I420,width=64,height=48,framerate=30/1"), let info = VideoInfo(caps)
        else { return [] }
        return buffer.access.withVideoFrame(info, .read) { frame in
            let luma = frame.bytes(plane: 0, rows: 48, rowBytes: 64)
            var bytes: [UInt8] = []
            for index in luma.indices { bytes.append(luma[index]) }
            return bytes
        } ?? []
    }

    @Test("SE-4 frames of another process that are kept stay as they are, also after their reader has ceased to read")
    func kept() async throws {
        let room = #function
        let graph = try Graph("videosource name=camera ! call.camera  mediasession name=call room=\"\(room)\" user=bob")
        let source = RecordingSource()
        try graph.videoSource("camera").attach(source)
        try await graph.start()
        // Two processes that read: the stream goes on when one of them ceases to.
        let (others, links, readers) = try Self.readers(room, bound: 2)
        let key = others[0].bobs.key
        var kept: [(UnmanagedBuffer, [UInt8])] = []
        #expect(
            Self.sends(source) {
                if let buffer = Self.take(readers[0]) {
                    let bytes = Self.bytes(buffer)
                    kept.append((UnmanagedBuffer(buffer), bytes))
                }
                return kept.count == 3
            })
        #expect(kept.allSatisfy { $0.1.count == 64 * 48 })
        others[0].bobs.remove(readers[0])
        links[0].setDemand(others[0].bobs.demand, for: key)
        let sent = Room.named(room, over: .processes).stream(key)
        var count = 0
        #expect(
            Self.sends(source) {
                if Self.take(readers[1]) != nil { count += 1 }
                return count == 30
            })
        _ = sent
        for (buffer, bytes) in kept {
            let buffer = buffer.take()
            #expect(Self.bytes(buffer) == bytes)
        }
        for link in links { link.stop() }
        await graph.stop()
    }

    @Test("SE-4 processes that have lost each other, as one was stuck for long, meet again")
    func reunion() throws {
        let (first, second) = (Other(), Other())
        let (early, late) = try Self.links(#function, first, second)
        let key = first.bobs.key
        // Whichever is stuck: the one that finds the other, or the one that is found.
        for (stuck, (link, told)) in [(second, (early, first)), (first, (late, second))] {
            stuck.isStuck.store(true, ordering: .releasing)
            let user = told === first ? "alice" : "bob"
            let before = told.users.all.count
            let key = StreamKey(user: told === first ? "bob" : "alice", kind: key.kind)
            #expect(
                waitUntil {
                    for round in 0..<1000 { link.streamChanged(key, isOn: round % 2 == 0) }
                    return told.users.all.dropFirst(before).contains("-\(user)")
                })
            stuck.isStuck.store(false, ordering: .releasing)
            #expect(waitUntil { told.users.all.last == user && link.remoteUsers == [user] })
        }
        #expect(waitUntil { early.remoteUsers == ["alice"] && late.remoteUsers == ["bob"] })
        for link in [late, early] { link.stop() }
    }

    @Test("SE-1 a user who moves to a process that hasn't heard of the end yet is here, and stays")
    func moved() throws {
        let (first, second) = (Other(), Other())
        let (early, late) = try Self.links(#function, first, second)
        // What comes of the other process waits; the name is free before that is told.
        first.isStuck.store(true, ordering: .releasing)
        late.streamChanged(StreamKey(user: "alice", kind: .camera), isOn: true)
        late.leave("alice")
        let (others, hasMoved) = try early.join("alice")
        #expect(others == [] && hasMoved && early.remoteUsers == [])
        first.isStuck.store(false, ordering: .releasing)
        #expect(waitUntil { second.users.all == ["bob", "alice"] })
        // Anything behind what was late: then that has been heard.
        _ = try late.join("carol")
        #expect(waitUntil { first.users.all.last == "carol" })
        #expect(first.users.all == ["alice", "carol"])
        for link in [late, early] { link.stop() }
    }

    @Test("SE-4 what finds no room in a full socket waits for it in order, and no buffer takes the room from it")
    func fullSocket() throws {
        let folder = try TemporaryFolder()
        let listener = try LocalSocket.listening(at: folder.file("socket"))
        let outbox = PeerOutbox(try LocalSocket.connected(to: folder.file("socket")))
        guard case .connected(let other) = listener.accept(timeout: 60_000_000) else {
            Issue.record("nobody came")
            return
        }
        let buffer = Data([1])
        var expected: [Data] = []
        while outbox.offer(buffer, descriptor: nil) { expected.append(buffer) }
        let messages = (0..<2000).map { PeerMessage.joined("user \($0)").bytes }
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
        // Who reads nothing for ever is given up.
        var count = 0
        while count < PeerOutbox.limit, outbox.offer(buffer, descriptor: nil) { count += 1 }
        for _ in 0...PeerOutbox.limit / messages[0].count { outbox.send(messages[0]) }
        while other.receive() != nil {}
    }

    @Test("SE-4 a process that is stuck for a moment loses nobody, however much it has to hear then")
    func hiccup() throws {
        let (first, second) = (Other(), Other())
        let (early, late) = try Self.links(#function, first, second)
        second.isStuck.store(true, ordering: .releasing)
        for round in 0..<2000 { early.streamChanged(first.bobs.key, isOn: round % 2 == 0) }
        _ = try early.join("carol")
        second.isStuck.store(false, ordering: .releasing)
        #expect(waitUntil { second.users.all.contains("carol") })
        #expect(second.users.all == ["bob", "carol"] && first.users.all == ["alice"])
        for link in [late, early] { link.stop() }
    }

    /// Two other processes that read bob's camera.
    private static func readers(
        _ room: String, bound: Int
    ) throws -> (others: [Other], links: [RoomLink], readers: [StreamReader]) {
        let others = [Other(), Other()]
        let links = try others.map { try RoomLink(room: room, delegate: $0) }
        for link in links { link.start() }
        for (index, link) in links.enumerated() { _ = try link.join("reader\(index)") }
        #expect(waitUntil { others.allSatisfy { $0.users.all.contains("bob") } })
        let readers = others.map { _ in StreamReader(bound: bound) }
        for (index, reader) in readers.enumerated() {
            reader.play()
            others[index].bobs.add(reader)
            links[index].setDemand(others[index].bobs.demand, for: others[index].bobs.key)
        }
        return (others, links, readers)
    }

    /// Of two processes, in one of which is bob, in the other alice.
    static func links(_ room: String, _ first: Other, _ second: Other) throws -> (
        early: RoomLink, late: RoomLink
    ) {
        let early = try RoomLink(room: room, delegate: first)
        early.start()
        _ = try early.join("bob")
        let late = try RoomLink(room: room, delegate: second)
        late.start()
        _ = try late.join("alice")
        #expect(waitUntil { first.users.all == ["alice"] && second.users.all == ["bob"] })
        return (early, late)
    }

    @Test("SE-4 a buffer without a byte goes to another process like any other")
    func empty() throws {
        let (first, second) = (Other(), Other())
        let (early, late) = try Self.links(#function, first, second)
        let reader = StreamReader(bound: 8)
        reader.play()
        second.bobs.add(reader)
        late.setDemand(second.bobs.demand, for: second.bobs.key)
        first.bobs.begin()
        first.bobs.setCaps(try #require(Caps("video/x-vp8,width=64,height=48,framerate=30/1")))
        first.bobs.setTiming(.machine(latency: .zero))
        for size in [100, 0, 100, 0] {
            #expect(
                waitUntil {
                    if let buffer = Buffer(size: size) { first.bobs.send(buffer.access) }
                    guard let buffer = Self.take(reader) else { return false }
                    return buffer.access.size == size
                })
        }
        #expect(second.users.all == ["bob"] && first.users.all == ["alice"])
        for link in [late, early] { link.stop() }
    }

    @Test("SE-4 a process that has said what makes no sense is met again, and one of another version isn't")
    func nonsense() throws {
        let directory = RoomDirectory(room: #function)
        let place = try directory.enter()
        let other = Other()
        let link = try RoomLink(room: #function, delegate: other)
        link.start()
        func accepted(_ timeout: Int64) -> LocalSocket? {
            guard case .connected(let socket) = place.socket.accept(timeout: timeout) else { return nil }
            return socket
        }
        // A frame of 16×16 whose last plane lies beyond its memory.
        let memory = try #require(SharedMemory(size: 384))
        guard let frame = Buffer(filledWith: 1, count: 384) else {
            Issue.record("no memory")
            return
        }
        var shared = SharedBuffer(frame.access, in: 1, capacity: 384, timing: .machine(latency: .zero))
        shared.layout = VideoLayout(words: [2, 16 << 32 | 16, 0, 16, 256, 8, 1 << 20, 8])
        let outside = BufferMessage.buffer(other.bobs.key, shared).bytes
        for (round, nonsense) in [(Data("nonsense".utf8), nil), (outside, memory.descriptor)].enumerated() {
            let socket = try #require(accepted(60_000_000))
            _ = socket.send(PeerMessage.hello(version: PeerMessage.version, users: ["bob"]).bytes)
            #expect(waitUntil { other.users.all.count == round * 2 + 1 })
            _ = socket.send(nonsense.0, descriptor: nonsense.1)
            #expect(waitUntil { other.users.all.count == round * 2 + 2 })
        }
        #expect(other.users.all == ["bob", "-bob", "bob", "-bob"])
        let socket = try #require(accepted(60_000_000))
        _ = socket.send(PeerMessage.hello(version: PeerMessage.version + 1, users: ["bob"]).bytes)
        while socket.receive() != nil {}
        #expect(accepted(2_500_000) == nil && other.users.all.count == 4)
        link.stop()
        directory.leave(place.endpoint)
    }

    @Test("SE-4 a process that takes nobody in at the moment stays in the room, and one that has died doesn't")
    func busy() throws {
        let directory = RoomDirectory(room: #function)
        var busy: RoomDirectory.Place? = try directory.enter()
        let first = try #require(busy).endpoint
        var waiting: [LocalSocket] = []
        while waiting.count < 1000, let next = try? LocalSocket.connected(to: directory.place(of: first)) {
            waiting.append(next)
        }
        #expect(waiting.count < 1000)
        let link = try RoomLink(room: #function, delegate: Other())
        link.start()
        let endpoints = directory.endpoints
        #expect(endpoints.count == 2 && endpoints[0] == first)
        busy = nil
        waiting = []
        _ = busy
        // Whoever comes next, to whatever room, clears up.
        let another = RoomDirectory(room: "another than \(#function)")
        let place = try another.enter()
        #expect(directory.endpoints == [endpoints[1]])
        another.leave(place.endpoint)
        link.stop()
        #expect(directory.endpoints == [] && another.endpoints == [])
    }

    @Test("SE-3 a lock that can't be had says whether another has it, or what else is wrong")
    func lock() throws {
        let folder = try TemporaryFolder()
        let held = try #require(try FileLock(folder.file("a")))
        #expect(try FileLock(folder.file("a")) == nil)
        held.remove()
        #expect(try FileLock(folder.file("a")) != nil)
        do throws(MediaGraphError) {
            _ = try FileLock(folder.file("none/a"))
            Issue.record("there is no such folder")
        } catch { #expect(error.detail.actual == "No such file or directory") }
    }

    @Test("SE-4 what forwards a stream that nobody wants any more never begins to")
    func stoppedBeforeStarted() {
        let stream = RoomStream(StreamKey(user: "bob", kind: .camera), room: "none")
        let forwarder = StreamForwarder(stream)
        forwarder.stop()
        forwarder.start()
        #expect(stream.demand == nil)
    }
}
