import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraph

/// What crosses between processes, by a room's link that stands for the other process.
@Suite struct RoomLinkTests {
    init() throws { try Nodes.register() }

    /// The other process's room.
    private final class Other: RoomLinkEvents {
        let bobs = RoomStream(StreamKey(user: "bob", kind: .camera), room: "other")
        let users = Log<String>()
        func remoteJoined(_ user: String) { users.add(user) }
        func remoteLeft(_ user: String) {}
        func remoteStreamChanged(_ key: StreamKey, isOn: Bool) {}
        func stream(_ key: StreamKey) -> RoomStream { bobs }
        func demand(for key: StreamKey) -> Resolution? { key == bobs.key ? bobs.demand : nil }
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
        let link = try RoomLink(room: room, events: other)
        try link.start()
        _ = try link.join("alice")
        #expect(waitUntil { other.users.all == ["bob"] })
        let key = other.bobs.key
        let sent = Room.named(room).stream(key)
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
                    switch reader.next() {
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
        func changed() { link.demandChanged(key) }
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
}
