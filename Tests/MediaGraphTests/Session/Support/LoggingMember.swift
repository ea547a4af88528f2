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
    func streamChanged(_ key: StreamKey, _ change: StreamChange) {
        events.add("\(key.user) \(key.kind) \(change.text)")
    }
    func roomIsLimitedToProcess(because error: MediaGraphError, remedy: String) { events.add("\(error)") }
    func warn(_ text: String) { events.add(text) }
}

extension StreamChange {
    /// The change as logs of tests show it.
    var text: String {
        switch self {
        case .status(let isOn): isOn ? "on" : "off"
        case .muted(let isMuted): isMuted ? "muted" : "unmuted"
        case .alpha(let isOn): isOn ? "with alpha" : "without alpha"
        }
    }
}
