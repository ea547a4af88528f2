import Foundation
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// A room and its streams by themselves.
@Suite struct RoomTests {
    /// Before the first buffer.
    init() { GStreamerRuntime.initialize() }

    private final class Member: RoomMember {
        let user: String
        let heard = Log<String>()
        init(_ user: String) { self.user = user }
        func joined(_ user: String) { heard.add("+\(user)") }
        func left(_ user: String) { heard.add("-\(user)") }
        func streamChanged(_ key: StreamKey, isOn: Bool) { heard.add("\(key.user) \(key.kind) \(isOn ? "on" : "off")") }
        func roomIsLimitedToProcess(because error: MediaGraphError, remedy: String) { heard.add("\(error)") }
        func warn(_ text: String) { heard.add(text) }
    }

    @Test("SE-1 users hear of each other's coming and going, whoever was first")
    func comingAndGoing() throws {
        let room = Room.named("coming and going", over: .processes)
        let (alice, bob, carol) = (Member("alice"), Member("bob"), Member("carol"))
        try room.join(alice)
        try room.join(bob)
        try room.join(carol)
        #expect(room.users == ["alice", "bob", "carol"])
        room.leave(bob)
        try room.join(bob)
        #expect(alice.heard.all == ["+bob", "+carol", "-bob", "+bob"])
        #expect(carol.heard.all == ["+alice", "+bob", "-bob", "+bob"])
        #expect(bob.heard.all == ["+alice", "+carol", "+alice", "+carol"])
    }

    @Test("SE-1 all hear of who sends what, those who come later too")
    func streams() throws {
        let room = Room.named("streams", over: .processes)
        let (alice, bob, carol) = (Member("alice"), Member("bob"), Member("carol"))
        try room.join(alice)
        try room.join(bob)
        room.streamChanged(StreamKey(user: "bob", kind: .camera), isOn: true)
        room.streamChanged(StreamKey(user: "bob", kind: .share), isOn: true)
        room.streamChanged(StreamKey(user: "bob", kind: .share), isOn: false)
        try room.join(carol)
        #expect(alice.heard.all == ["+bob", "bob camera on", "bob share on", "bob share off", "+carol"])
        #expect(carol.heard.all == ["+alice", "+bob", "bob camera on"])
    }

    @Test("SE-1 two users of one name are one too many, and the second's leaving isn't the first's")
    func sameName() throws {
        let room = Room.named("same name", over: .processes)
        let (first, second) = (Member("alice"), Member("alice"))
        try room.join(first)
        #expect(
            throws: MediaGraphError.alreadyInUse(
                .init(
                    "somebody in room \"same name\" is already called \"alice\"; choose another name with user=…"))
        ) { try room.join(second) }
        room.leave(second)
        #expect(room.users == ["alice"])
    }

    @Test("SE-3 a room is the same for all who name it, and gone with the last of them")
    func lifetime() throws {
        var room: Room? = Room.named("lifetime", over: .processes)
        #expect(Room.named("lifetime", over: .processes) === room)
        #expect(Room.named("another", over: .processes) !== room)
        weak let watched = room
        room = nil
        #expect(watched == nil)
    }

    @Test("SE-3 users of one process who come at once share one link to the others, which goes with the last of them")
    func together() throws {
        for round in 0..<20 {
            let room = Room.named("\(#function) \(round)", over: .processes)
            let directory = RoomDirectory(room: room.name)
            let members = (0..<8).map { Member("user \($0)") }
            let threads = members.map { member in
                NativeThread("join") { try? room.join(member) }
            }
            for thread in threads { thread.join() }
            #expect(room.users.count == 8 && directory.endpoints.count == 1)
            for thread in members.map({ member in NativeThread("leave") { room.leave(member) } }) { thread.join() }
            #expect(room.users == [] && access(directory.path, F_OK) != 0)
        }
    }

    @Test("SE-1 a name is free for other processes as soon as its user has left")
    func rejoin() throws {
        let room = Room.named(#function, over: .processes)
        let (alice, bob) = (Member("alice"), Member("bob"))
        try room.join(bob)
        let threads = (0..<4).map { _ in
            NativeThread("rejoin") {
                for _ in 0..<50 {
                    do { try room.join(alice) } catch { continue }
                    room.leave(alice)
                }
            }
        }
        for thread in threads { thread.join() }
        try room.join(alice)
        #expect(room.users == ["alice", "bob"])
        room.leave(alice)
        room.leave(bob)
    }

    @Test("SE-1 a room keeps no stream that nobody reads or sends")
    func unused() {
        let room = Room.named(#function, over: .processes)
        let key = StreamKey(user: "bob", kind: .camera)
        var stream: RoomStream? = room.stream(key)
        #expect(room.stream(key) === stream)
        weak let watched = stream
        stream = nil
        #expect(watched == nil)
    }

    @Test("SE-4 a reader that is stuck costs no memory, and goes on with what is true")
    func stuck() throws {
        let stream = RoomStream(StreamKey(user: "bob", kind: .share), room: "stuck")
        let reader = StreamReader(bound: 2)
        reader.play()
        stream.add(reader)
        guard let buffer = Buffer(size: 10) else { return }
        for round in 0..<1000 {
            stream.begin()
            _ = stream.setStatus(true)
            for width in [round * 2 + 16, 16] {
                stream.setCaps(try #require(Caps("video/x-raw,format=I420,width=\(width),height=16,framerate=30/1")))
                stream.send(buffer.access)
            }
            stream.end()
        }
        stream.begin()
        stream.setCaps(try #require(Caps("video/x-raw,format=I420,width=32,height=16,framerate=30/1")))
        _ = stream.setStatus(true)
        let steps = drain(reader)
        #expect(steps.count < 80, "\(steps.count)")
        #expect(steps.filter { $0 == "10" }.count == 2)
        #expect(steps.suffix(4).first == "off" && steps.suffix(3).first == "begin" && steps.last == "on")
        #expect(steps.suffix(2).first?.contains("width=(int)32") == true, "\(steps.suffix(4))")
    }

    private func next(_ reader: StreamReader) -> String {
        switch reader.next(timeout: 100_000) {
        case .buffer(let frame):
            let buffer = frame.buffer.take()
            return "\(buffer.access.size)"
        case .signal(.begin): return "begin"
        case .signal(.format(let format)): return "caps \(format.caps)"
        case .signal(.timing): return "timing"
        case .signal(.status(let isOn)): return isOn ? "on" : "off"
        case .signal(.refused(let problem)): return problem
        case .negotiate: return "negotiate"
        case .memoryFull: return "memory full"
        case .refusedDownstream: return "refused"
        case .stalled(let isStalled): return isStalled ? "stalled" : "resumed"
        case .idle: return "idle"
        case .flush: return "flush"
        case .end: return "end"
        }
    }

    private func drain(_ reader: StreamReader) -> [String] {
        var steps: [String] = []
        while let step = Optional(next(reader)), step != "idle", step != "flush", step != "end" { steps.append(step) }
        return steps
    }

    private func send(_ size: Int, to stream: RoomStream, isPredicted: Bool = false) {
        guard let buffer = Buffer(size: size) else { return }
        if isPredicted { buffer.access.contentFlags = .max }
        stream.send(buffer.access)
    }

    @Test("SE-4 of an encoded stream a reader has nothing that it can't decode, of raw frames behind it the newest")
    func predicted() throws {
        let stream = RoomStream(StreamKey(user: "bob", kind: .camera), room: "r")
        let reader = StreamReader(bound: 2)
        reader.play()
        stream.begin()
        let encoded = try #require(Caps("video/x-vp8,width=16,height=16"))
        stream.setCaps(encoded)
        stream.add(reader)
        #expect(drain(reader).count == 2)
        // Before its first key frame, and behind one that was lost.
        for size in 1...3 { send(size, to: stream, isPredicted: true) }
        send(4, to: stream)
        for size in 5...20 { send(size, to: stream, isPredicted: true) }
        #expect(next(reader) == "4" && next(reader) == "5")
        for size in 21...24 { send(size, to: stream, isPredicted: true) }
        #expect(drain(reader) == ["6", "7", "8", "9", "10", "11"])
        send(25, to: stream, isPredicted: true)
        send(26, to: stream)
        for size in 27...40 { send(size, to: stream, isPredicted: true) }
        send(41, to: stream)
        #expect(drain(reader) == ["41"])
        // Behind a pause.
        send(42, to: stream, isPredicted: true)
        reader.pause()
        send(43, to: stream, isPredicted: true)
        reader.play()
        send(44, to: stream, isPredicted: true)
        send(45, to: stream)
        #expect(drain(reader) == ["45"])
        // Raw frames that follow are the newest two again, one by one.
        for size in 46...53 { send(size, to: stream, isPredicted: true) }
        stream.setCaps(try #require(Caps("video/x-raw,format=I420,width=16,height=16")))
        for size in 54...56 { send(size, to: stream) }
        #expect(drain(reader).suffix(2) == ["55", "56"])
        for size in 57...70 { send(size, to: stream, isPredicted: true) }
        #expect(drain(reader) == ["69", "70"])
        let lost = NodeCounts(reader.statistics.structure).dropped
        #expect(lost == 3 + 9 + 4 + 1 + 9 + 6 + 1 + 1 + 9 + 12, "\(lost)")
    }

    @Test("SE-1 a reader that waited for its user and one that comes later are told the same, in order")
    func begin() throws {
        let stream = RoomStream(StreamKey(user: "bob", kind: .camera), room: "r")
        #expect(stream.id == "r/bob/video")
        let (early, late) = (StreamReader(bound: 5), StreamReader(bound: 5))
        early.play()
        late.play()
        stream.add(early)
        stream.begin()
        stream.setCaps(Caps("video/x-raw")!)
        #expect(stream.setStatus(true))
        #expect(!stream.setStatus(true))
        send(1, to: stream)
        stream.add(late)
        send(2, to: stream)
        stream.end()
        send(3, to: stream)
        #expect(drain(early) == ["begin", "caps video/x-raw", "on", "1", "2", "off", "3"])
        #expect(drain(late) == ["begin", "caps video/x-raw", "on", "2", "off", "3"])
        // Who has gone has no format for those who come now.
        let after = StreamReader(bound: 2)
        after.play()
        stream.add(after)
        #expect(drain(after) == [])
    }

    @Test("SE-4 a reader that takes nothing loses the oldest, alone, and none of what is said in between")
    func slowReader() throws {
        let stream = RoomStream(StreamKey(user: "bob", kind: .camera), room: "r")
        let (slow, quick) = (StreamReader(bound: 2), StreamReader(bound: 2))
        for reader in [slow, quick] {
            reader.play()
            stream.add(reader)
        }
        stream.begin()
        #expect(drain(quick) == ["begin"])
        for size in 1...9 {
            if size == 5 { _ = stream.setStatus(true) }
            send(size, to: stream)
            #expect(drain(quick) == (size == 5 ? ["on", "5"] : ["\(size)"]))
        }
        #expect(drain(slow) == ["begin", "on", "8", "9"])
        #expect(NodeCounts(slow.statistics.structure).dropped == 7)
        #expect(NodeCounts(quick.statistics.structure).dropped == 0)
    }

    @Test("SE-1 what comes in a pause isn't shown after it as new; what a flush takes is counted")
    func pause() throws {
        let stream = RoomStream(StreamKey(user: "bob", kind: .camera), room: "r")
        let reader = StreamReader(bound: 2)
        stream.add(reader)
        send(1, to: stream)
        reader.play()
        send(2, to: stream)
        reader.pause()
        send(3, to: stream)
        reader.play()
        #expect(drain(reader) == [])
        #expect(NodeCounts(reader.statistics.structure).dropped == 1)
        send(4, to: stream)
        reader.flush()
        #expect(next(reader) == "flush")
        reader.resume()
        send(5, to: stream)
        #expect(drain(reader) == ["5"])
        #expect(NodeCounts(reader.statistics.structure).dropped == 2)
    }
}
