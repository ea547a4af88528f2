import Foundation
import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph
@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Tests a room and its streams on their own.
@Suite struct RoomTests {
    /// GStreamer has to be initialized before the first buffer.
    init() { GStreamerRuntime.initialize() }

    @Test("SE-1 users are notified of each other's joining and leaving, in any order")
    func comingAndGoing() throws {
        let room = Room.named("coming and going", over: .roomLink)
        let (alice, bob, carol) = (LoggingMember("alice"), LoggingMember("bob"), LoggingMember("carol"))
        try room.join(alice)
        try room.join(bob)
        try room.join(carol)
        #expect(room.users == ["alice", "bob", "carol"])
        room.leave(bob)
        try room.join(bob)
        #expect(alice.events.all == ["+bob", "+carol", "-bob", "+bob"])
        #expect(carol.events.all == ["+alice", "+bob", "-bob", "+bob"])
        #expect(bob.events.all == ["+alice", "+carol", "+alice", "+carol"])
    }

    @Test("SE-1 users are notified of each other's streams, even if they join later")
    func streams() throws {
        let room = Room.named("streams", over: .roomLink)
        let (alice, bob, carol) = (LoggingMember("alice"), LoggingMember("bob"), LoggingMember("carol"))
        try room.join(alice)
        try room.join(bob)
        room.streamChanged(StreamKey(user: "bob", kind: .camera), .status(isOn: true))
        room.streamChanged(StreamKey(user: "bob", kind: .share), .status(isOn: true))
        room.streamChanged(StreamKey(user: "bob", kind: .share), .status(isOn: false))
        try room.join(carol)
        #expect(alice.events.all == ["+bob", "bob camera on", "bob share on", "bob share off", "+carol"])
        #expect(carol.events.all == ["+alice", "+bob", "bob camera on"])
    }

    @Test("SE-1 a second user with the same name is refused, and doesn't affect the first")
    func sameName() throws {
        let room = Room.named("same name", over: .roomLink)
        let (first, second) = (LoggingMember("alice"), LoggingMember("alice"))
        try room.join(first)
        #expect(
            throws: MediaGraphError.alreadyInUse(
                .init(
                    "somebody in room \"same name\" is already called \"alice\"; choose another name with user=…"))
        ) { try room.join(second) }
        room.leave(second)
        #expect(room.users == ["alice"])
    }

    @Test("SE-3 a room is the same object for all its users, and released with the last one")
    func lifetime() throws {
        var room: Room? = Room.named("lifetime", over: .roomLink)
        #expect(Room.named("lifetime", over: .roomLink) === room)
        #expect(Room.named("another", over: .roomLink) !== room)
        weak let watched = room
        room = nil
        #expect(watched == nil)
    }

    @Test("SE-3 users of a process who join at once share one link, which is closed with the last of them")
    func together() throws {
        for round in 0..<20 {
            let room = Room.named("\(#function) \(round)", over: .roomLink)
            let directory = RoomDirectory(room: room.name)
            let members = (0..<8).map { LoggingMember("user \($0)") }
            let threads = members.map { member in
                NativeThread("join") { try? room.join(member) }
            }
            for thread in threads { thread.join() }
            #expect(room.users.count == 8 && directory.endpoints.count == 1)
            for thread in members.map({ member in NativeThread("leave") { room.leave(member) } }) { thread.join() }
            // The folder may be removed a little later, since all rooms share a lock.
            #expect(room.users == [] && directory.endpoints == [])
            #expect(waitUntil { access(directory.path, F_OK) != 0 })
        }
    }

    @Test("SE-1 a name is free for other processes as soon as its user has left")
    func rejoin() throws {
        let room = Room.named(#function, over: .roomLink)
        let (alice, bob) = (LoggingMember("alice"), LoggingMember("bob"))
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
        let room = Room.named(#function, over: .roomLink)
        let key = StreamKey(user: "bob", kind: .camera)
        var stream: RoomStream? = room.stream(key)
        #expect(room.stream(key) === stream)
        weak let watched = stream
        stream = nil
        #expect(watched == nil)
    }

    @Test("SE-4 a blocked reader costs no memory, and continues with the current state")
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
        switch reader.next(timeoutNanoseconds: 100_000_000) {
        case .buffer(let frame):
            let buffer = frame.buffer.take()
            return "\(buffer.access.size)"
        case .signal(.begin): return "begin"
        case .signal(.format(let format)): return "caps \(format.caps)"
        case .signal(.timing): return "timing"
        case .signal(.status(let isOn)): return isOn ? "on" : "off"
        case .signal(.alpha(let isOn)): return isOn ? "with alpha" : "without alpha"
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

    @Test("SE-4 a reader gets no encoded frame that it can't decode, and of raw frames the newest")
    func predicted() throws {
        let stream = RoomStream(StreamKey(user: "bob", kind: .camera), room: "r")
        let reader = StreamReader(bound: 2)
        reader.play()
        stream.begin()
        let encoded = try #require(Caps("video/x-vp8,width=16,height=16"))
        stream.setCaps(encoded)
        stream.add(reader)
        #expect(drain(reader).count == 2)
        // Frames before the first key frame, and after one that was lost.
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
        // Frames after a pause.
        send(42, to: stream, isPredicted: true)
        reader.pause()
        send(43, to: stream, isPredicted: true)
        reader.play()
        send(44, to: stream, isPredicted: true)
        send(45, to: stream)
        #expect(drain(reader) == ["45"])
        // Of the raw frames that follow, the newest two are kept again.
        for size in 46...53 { send(size, to: stream, isPredicted: true) }
        stream.setCaps(try #require(Caps("video/x-raw,format=I420,width=16,height=16")))
        for size in 54...56 { send(size, to: stream) }
        #expect(drain(reader).suffix(2) == ["55", "56"])
        for size in 57...70 { send(size, to: stream, isPredicted: true) }
        #expect(drain(reader) == ["69", "70"])
        let lost = NodeCounts(reader.statistics.structure).dropped
        #expect(lost == 3 + 9 + 4 + 1 + 9 + 6 + 1 + 1 + 9 + 12, "\(lost)")
    }

    @Test("NW-2 readers of a stream that a transport decodes get it encoded or decoded, as each prefers")
    func forms() throws {
        let demands = Log<StreamDemand?>()
        let stream = RoomStream(StreamKey(user: "bob", kind: .camera), room: "r") { request in
            if case .demand(let demand) = request { demands.add(demand) }
        }
        let (taker, viewer) = (StreamReader(bound: 5), StreamReader(bound: 5))
        taker.setPrefersEncoded(true)
        for reader in [taker, viewer] {
            reader.play()
            stream.add(reader)
        }
        #expect(demands.all.map { $0?.wantsDecoded } == [false, true])
        stream.begin()
        stream.setEncodedCaps(Caps("video/x-vp8")!)
        stream.setCaps(Caps("video/x-raw")!)
        func send(_ size: Int, isPredicted: Bool = false) {
            guard let buffer = Buffer(size: size) else { return }
            if isPredicted { buffer.access.contentFlags = .max }
            stream.sendEncoded(buffer.access)
            guard let decoded = Buffer(size: size * 10) else { return }
            stream.send(decoded.access)
        }
        send(1)
        send(2, isPredicted: true)
        #expect(drain(taker) == ["begin", "caps video/x-vp8", "1", "2"])
        #expect(drain(viewer) == ["begin", "caps video/x-raw", "10", "20"])
        // A reader that changes its mind needs a key frame.
        viewer.setPrefersEncoded(true)
        #expect(demands.all.last??.wantsDecoded == false)
        send(3, isPredicted: true)
        send(4)
        #expect(drain(viewer) == ["caps video/x-vp8", "4"])
        taker.setPrefersEncoded(false)
        #expect(demands.all.last??.wantsDecoded == true)
        send(5)
        #expect(drain(taker) == ["caps video/x-raw", "50"])
        // The preference matters only for a stream with both forms.
        let plain = RoomStream(StreamKey(user: "eve", kind: .camera), room: "r")
        stream.remove(viewer)
        plain.add(viewer)
        plain.begin()
        plain.setCaps(Caps("video/x-raw")!)
        #expect(drain(viewer) == ["begin", "caps video/x-raw"])
    }

    @Test("SE-1 a reader that waited for its user and one that comes later get the same events in order")
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
        // A user who has left has no format for new readers.
        let after = StreamReader(bound: 2)
        after.play()
        stream.add(after)
        #expect(drain(after) == [])
    }

    @Test("SE-4 a slow reader only loses its own oldest frames, and no signals in between")
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

    @Test("SE-1 frames during a pause aren't delivered after it, and flushed frames are counted")
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
