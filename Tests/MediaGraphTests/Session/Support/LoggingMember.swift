import Synchronization
import TestSupport

@testable import MediaGraphCore
@testable import MediaGraphSession

/// A user of a room, who logs what the room reports.
final class LoggingMember: RoomMember {
    let user: String
    let sending = SendSettings()
    let events = Log<String>()
    private let shown = Mutex(UserProfile())
    init(_ user: String) { self.user = user }

    var profile: UserProfile {
        get { shown.withLock { $0 } }
        set { shown.withLock { $0 = newValue } }
    }

    func joined(_ user: String, _ profile: UserProfile) { events.add("+\(user)\(profile.text)") }
    func profileChanged(of user: String, to profile: UserProfile) { events.add("\(user) is\(profile.text)") }
    func received(_ command: SessionCommand, from user: String, isForAll: Bool) {
        events.add("\(user)\(isForAll ? " to all" : ""): \(command.content)")
    }
    func left(_ user: String) { events.add("-\(user)") }
    func streamChanged(_ key: StreamKey, _ change: StreamChange) {
        events.add("\(key.user) \(key.kind) \(change.text)")
    }
    func roomIsLimitedToProcess(because error: MediaGraphError, remedy: String) { events.add("\(error)") }
    func warn(_ text: String) { events.add(text) }
}

extension UserProfile {
    /// The profile as logs of tests show it: nothing for an empty one.
    var text: String {
        (displayName.isEmpty ? "" : " \"\(displayName)\"") + (customData.isEmpty ? "" : " \(customData)")
    }
}

extension SessionCommand {
    /// The command as logs of tests show it.
    var content: String {
        switch self {
        case .text(let text): text
        case .bytes(let bytes): "\(bytes)"
        }
    }
}

extension StreamChange {
    /// The change as logs of tests show it.
    var text: String {
        switch self {
        case .status(let isOn): isOn ? "on" : "off"
        case .muted(let isMuted): isMuted ? "muted" : "unmuted"
        case .speaking(let isSpeaking): isSpeaking ? "speaks" : "is silent"
        case .alpha(let isOn): isOn ? "with alpha" : "without alpha"
        }
    }
}
