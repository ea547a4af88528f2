import GStreamer
import Synchronization
import TestSupport
import Testing

@testable import MediaGraphCore
@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// The room of the other process.
final class OtherRoom: RoomTransportDelegate {
    let bobs = RoomStream(StreamKey(user: "bob", kind: .camera), room: "other")
    let users = Log<String>()
    /// While this is set, notifications of stream changes block.
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

    /// Links of two processes, with bob in the first and alice in the second.
    static func links(_ room: String, _ first: OtherRoom, _ second: OtherRoom) throws -> (
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
}

extension StreamReader {
    /// Returns the reader's next buffer, or `nil` if none comes within 100 ms.
    func takeBuffer() -> Buffer? {
        while true {
            switch next(timeoutNanoseconds: 100_000_000) {
            case .buffer(let frame): return frame.buffer.take()
            case .idle: return nil
            default: continue
            }
        }
    }
}
