import TestSupport

@testable import MediaGraphCore
@testable import MediaGraphSession

/// A user of a room, who logs what the room reports.
final class LoggingMember: RoomMember {
    let user: String
    let events = Log<String>()
    init(_ user: String) { self.user = user }
    func joined(_ user: String) { events.add("+\(user)") }
    func left(_ user: String) { events.add("-\(user)") }
    func streamChanged(_ key: StreamKey, isOn: Bool) { events.add("\(key.user) \(key.kind) \(isOn ? "on" : "off")") }
    func muteChanged(_ key: StreamKey, isMuted: Bool) {
        events.add("\(key.user) \(key.kind) \(isMuted ? "muted" : "unmuted")")
    }
    func roomIsLimitedToProcess(because error: MediaGraphError, remedy: String) { events.add("\(error)") }
    func warn(_ text: String) { events.add(text) }
}
