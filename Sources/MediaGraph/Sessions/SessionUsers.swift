import MediaGraphCore
import MediaGraphDescription
import MediaGraphSession

/// The users in a session's room, as the room has reported them.
struct SessionUsers: Sendable {
    private struct User: Sendable {
        var profile = UserProfile()
        var sending: Set<UserStream> = []
        var muted: Set<UserStream> = []
        var isSpeaking = false
    }

    /// Includes the session's own user after the user's first stream.
    private var users: [String: User] = [:]

    var names: [String] { users.keys.sorted() }

    func contains(_ user: String) -> Bool { users[user] != nil }
    func profile(of user: String) -> UserProfile { users[user]?.profile ?? UserProfile() }
    func isSending(_ stream: UserStream, _ user: String) -> Bool { users[user]?.sending.contains(stream) ?? false }
    func isMuted(_ stream: UserStream, _ user: String) -> Bool { users[user]?.muted.contains(stream) ?? false }
    func isSpeaking(_ user: String) -> Bool { users[user]?.isSpeaking ?? false }

    mutating func setProfile(_ profile: UserProfile, of user: String) { users[user, default: User()].profile = profile }

    mutating func setSending(_ stream: UserStream, _ user: String, _ isOn: Bool) {
        if isOn { users[user, default: User()].sending.insert(stream) } else { users[user]?.sending.remove(stream) }
    }

    mutating func setMuted(_ stream: UserStream, _ user: String, _ isMuted: Bool) {
        if isMuted { users[user, default: User()].muted.insert(stream) } else { users[user]?.muted.remove(stream) }
    }

    mutating func setSpeaking(_ user: String, _ isSpeaking: Bool) { users[user]?.isSpeaking = isSpeaking }

    mutating func remove(_ user: String) { users[user] = nil }
}
