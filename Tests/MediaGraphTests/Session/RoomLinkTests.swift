import Foundation
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests what rooms exchange between processes. A second link stands for the other process.
@Suite struct RoomLinkTests {
    init() throws { try Nodes.register() }

    @Test(
        "SE-3 processes send each other only the size that the most demanding reader requests"
    )
    func demand() async throws {
        let room = #function
        let graph = try Graph("videosource name=camera ! call.camera  mediasession name=call room=\"\(room)\" user=bob")
        let source = RecordingSource()
        try graph.videoSource("camera").attach(source)
        try await graph.start()
        let other = OtherRoom()
        let link = try RoomLink.started(room, other)
        try link.claimed("alice")
        #expect(waitUntil { other.users.all == ["bob"] })
        let key = other.bobs.key
        let sent = Room.named(room, over: .roomLink).stream(key)
        let readers = (0..<2).map { _ in StreamReader(bound: 2) }
        /// Whether the reader gets a frame of this height.
        func isRead(_ lines: Int, by reader: StreamReader) -> Bool {
            waitUntil {
                try? sendNow(
                    source.sender, patternedFrame(width: 640, height: 360),
                    FrameDescription(
                        width: 640, height: 360, rotation: .clockwise90, framesPerSecond: Fraction(30, 1),
                        timestamp: source.sender.runningTime))
                while let buffer = reader.takeBuffer() {
                    let info = other.bobs.format.flatMap { VideoInfo($0.caps) }
                    if info?.height == lines, buffer.access.size == info?.size {
                        #expect(Rotation(of: buffer.access) == .clockwise90)
                        #expect(buffer.access.captureTime != nil)
                        return true
                    }
                }
                return false
            }
        }
        #expect(sent.demand == nil)
        for reader in readers { reader.play() }
        func changed() { link.setDemand(other.bobs.demand.map { StreamDemand(resolution: $0) }, for: key) }
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

    @Test("SE-4 only the first frame after lost ones is marked as discontinuous for another process")
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
                    while let buffer = reader.takeBuffer() { marks.append(buffer.access.isDiscontinuous) }
                    return condition(marks)
                })
            return marks
        }
        for reader in readers { _ = marks(reader) { $0.count >= 3 } }
        // The first reader takes nothing for a while, and more frames arrive than it can hold.
        others[0].isStuck.store(true, ordering: .releasing)
        for state in [State.paused, .playing] { graph.pipeline.setState(state) }
        _ = marks(readers[1]) { !$0.isEmpty }
        let statistics = Room.named(room, over: .roomLink).stream(others[0].bobs.key).remoteStatistics
        let all = marks(readers[1]) { _ in statistics.dropped.load(ordering: .relaxed) >= 5 }
        #expect(!all.contains(true))
        others[0].isStuck.store(false, ordering: .releasing)
        let behind = marks(readers[0]) { $0.contains(true) && $0.last == false }
        #expect(behind.count { $0 } == 1 && behind.first == false)
        for link in links { link.stop() }
        await graph.stop()
    }

    /// Sends frames until `condition` holds. Returns `false` if it doesn't.
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

    @Test("SE-4 kept frames of another process stay unchanged, even after their reader is gone")
    func kept() async throws {
        let room = #function
        let graph = try Graph("videosource name=camera ! call.camera  mediasession name=call room=\"\(room)\" user=bob")
        let source = RecordingSource()
        try graph.videoSource("camera").attach(source)
        try await graph.start()
        // With two processes that read, the stream goes on when one of them stops reading.
        let (others, links, readers) = try Self.readers(room, bound: 2)
        let key = others[0].bobs.key
        var kept: [(UnmanagedBuffer, [UInt8])] = []
        #expect(
            Self.sends(source) {
                if let buffer = readers[0].takeBuffer() {
                    let bytes = Self.bytes(buffer)
                    kept.append((UnmanagedBuffer(buffer), bytes))
                }
                return kept.count == 3
            })
        #expect(kept.allSatisfy { $0.1.count == 64 * 48 })
        others[0].bobs.remove(readers[0])
        links[0].setDemand(others[0].bobs.demand.map { StreamDemand(resolution: $0) }, for: key)
        let sent = Room.named(room, over: .roomLink).stream(key)
        var count = 0
        #expect(
            Self.sends(source) {
                if readers[1].takeBuffer() != nil { count += 1 }
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

    @Test("SE-4 processes that lost each other because one was blocked find each other again")
    func reunion() throws {
        let (first, second) = (OtherRoom(), OtherRoom())
        let (early, late) = try OtherRoom.links(#function, first, second)
        let key = first.bobs.key
        // Blocks each of the two: the one that finds the other, and the one that is found.
        for (stuck, (link, notified)) in [(second, (early, first)), (first, (late, second))] {
            stuck.isStuck.store(true, ordering: .releasing)
            let user = notified === first ? "alice" : "bob"
            let before = notified.users.all.count
            let key = StreamKey(user: notified === first ? "bob" : "alice", kind: key.kind)
            #expect(
                waitUntil {
                    for round in 0..<1000 { link.streamChanged(key, .status(isOn: round % 2 == 0)) }
                    return notified.users.all.dropFirst(before).contains("-\(user)")
                })
            stuck.isStuck.store(false, ordering: .releasing)
            #expect(waitUntil { notified.users.all.last == user && link.remoteUsers.keys.map(\.self) == [user] })
        }
        #expect(
            waitUntil {
                early.remoteUsers.keys.map(\.self) == ["alice"] && late.remoteUsers.keys.map(\.self) == ["bob"]
            })
        for link in [late, early] { link.stop() }
    }

    @Test("SE-1 a user may move to a process that doesn't know yet that they left the old one")
    func moved() throws {
        let (first, second) = (OtherRoom(), OtherRoom())
        let (early, late) = try OtherRoom.links(#function, first, second)
        // Notifications of the other process block. The name is free before they arrive.
        first.isStuck.store(true, ordering: .releasing)
        late.streamChanged(StreamKey(user: "alice", kind: .camera), .status(isOn: true))
        late.leave("alice")
        #expect(try early.claimed("alice") && early.remoteUsers.isEmpty)
        first.isStuck.store(false, ordering: .releasing)
        #expect(waitUntil { second.users.all == ["bob", "alice"] })
        // A later event shows that the delayed ones were handled.
        try late.claimed("carol")
        #expect(waitUntil { first.users.all.last == "carol" })
        #expect(first.users.all == ["alice", "carol"])
        for link in [late, early] { link.stop() }
    }

    @Test("SE-4 a process that is blocked for a moment loses no users, however many messages wait")
    func hiccup() throws {
        let (first, second) = (OtherRoom(), OtherRoom())
        let (early, late) = try OtherRoom.links(#function, first, second)
        second.isStuck.store(true, ordering: .releasing)
        for round in 0..<2000 { early.streamChanged(first.bobs.key, .status(isOn: round % 2 == 0)) }
        try early.claimed("carol")
        second.isStuck.store(false, ordering: .releasing)
        #expect(waitUntil { second.users.all.contains("carol") })
        #expect(second.users.all == ["bob", "carol"] && first.users.all == ["alice"])
        for link in [late, early] { link.stop() }
    }

    /// Two other processes that read bob's camera.
    private static func readers(
        _ room: String, bound: Int
    ) throws -> (others: [OtherRoom], links: [RoomLink], readers: [StreamReader]) {
        let others = [OtherRoom(), OtherRoom()]
        let links = try others.map { try RoomLink.started(room, $0) }
        for (index, link) in links.enumerated() { try link.claimed("reader\(index)") }
        #expect(waitUntil { others.allSatisfy { $0.users.all.contains("bob") } })
        let readers = others.map { _ in StreamReader(bound: bound) }
        for (index, reader) in readers.enumerated() {
            reader.play()
            others[index].bobs.add(reader)
            links[index].setDemand(
                others[index].bobs.demand.map { StreamDemand(resolution: $0) }, for: others[index].bobs.key)
        }
        return (others, links, readers)
    }

    @Test("SE-4 an empty buffer is sent to another process like any other")
    func empty() throws {
        let (first, second) = (OtherRoom(), OtherRoom())
        let (early, late) = try OtherRoom.links(#function, first, second)
        let reader = StreamReader(bound: 8)
        reader.play()
        second.bobs.add(reader)
        late.setDemand(second.bobs.demand.map { StreamDemand(resolution: $0) }, for: second.bobs.key)
        first.bobs.begin()
        first.bobs.setCaps(try #require(Caps("video/x-vp8,width=64,height=48,framerate=30/1")))
        first.bobs.setTiming(.machine(latency: .zero))
        for size in [100, 0, 100, 0] {
            #expect(
                waitUntil {
                    if let buffer = Buffer(size: size) { first.bobs.send(buffer.access) }
                    guard let buffer = reader.takeBuffer() else { return false }
                    return buffer.access.size == size
                })
        }
        #expect(second.users.all == ["bob"] && first.users.all == ["alice"])
        for link in [late, early] { link.stop() }
    }

    @Test("NW-1 the room isn't called any more once the link between processes has stopped")
    func silentAfterStop() throws {
        let (first, second) = (OtherRoom(), OtherRoom())
        let (early, late) = try OtherRoom.links(#function, first, second)
        first.isStuck.store(true, ordering: .releasing)
        late.streamChanged(StreamKey(user: "alice", kind: .camera), .status(isOn: true))
        #expect(waitUntil { first.changes.all.count == 1 })
        let isStopped = Atomic<Bool>(false)
        NativeThread("stopping") {
            early.stop()
            isStopped.store(true, ordering: .releasing)
        }.detach()
        // The call is still under way.
        for _ in 0..<100 { sleepBriefly() }
        let isEarly = isStopped.load(ordering: .acquiring)
        #expect(!isEarly)
        first.isStuck.store(false, ordering: .releasing)
        #expect(waitUntil { isStopped.load(ordering: .acquiring) })
        late.stop()
    }

    @Test("SE-12 a user's counters begin anew with each visit, also what other processes lost")
    func countsAnew() async throws {
        let room = Room.named(#function, over: .roomLink)
        // Another session of this process reads bob, so the stream outlasts his visit.
        let stream = room.stream(StreamKey(user: "bob", kind: .camera))
        stream.remoteStatistics.countDrop()
        let graph = try Graph(
            "videosource name=camera ! call.camera  mediasession name=call room=\"\(room.name)\" user=bob")
        try graph.videoSource("camera").attach(RecordingSource())
        try await graph.start()
        let statistics = try graph.element("call").property("stats", as: Structure.self)
        #expect(NodeCounts(statistics).dropped == 0)
        await graph.stop()
    }
}
