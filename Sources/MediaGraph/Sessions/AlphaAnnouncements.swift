import MediaGraphCore
import MediaGraphDescription
import MediaGraphSession

/// Decides when a session's delegate is told that a user's video has gained or lost its alpha channel: once for each
/// change, and in order with the frames that delegates get. A pure value.
///
/// The room or the session's own `alphachannel` reports a change early. Each pipe that reads the video reports it again,
/// in order with the frames. If there is such a pipe, its report decides.
struct AlphaAnnouncements: Sendable {
    /// What the room or the `alphachannel` reported last.
    private var reported: [String: Bool] = [:]
    /// What the delegate was told last; `nil` means that there is no alpha.
    private var announced: [String: Bool] = [:]

    /// Records what the room, or the session's own `alphachannel`, says. Returns whether to tell the delegate now.
    mutating func recordReport(_ isOn: Bool, of user: String, isRead: Bool) -> Bool {
        reported[user] = isOn
        return !isRead && recordAnnouncement(isOn, of: user)
    }

    /// Records that the frames of a user's pipe have changed. Returns whether to tell the delegate now.
    mutating func recordAnnouncement(_ isOn: Bool, of user: String) -> Bool {
        defer { announced[user] = isOn }
        return (announced[user] ?? false) != isOn
    }

    /// Called when the pipe that decided is gone. Returns what to tell the delegate now: the change that the pipe's
    /// frames hadn't reached; `nil` if there is none.
    mutating func catchUp(on user: String) -> Bool? {
        guard let isOn = reported[user], recordAnnouncement(isOn, of: user) else { return nil }
        return isOn
    }

    /// Forgets a user who has left. A user who comes back begins without alpha.
    mutating func forget(_ user: String) { (reported[user], announced[user]) = (nil, nil) }
}

extension Session {
    /// The names of the pipes whose frames show when a user's alpha channel changes; the first one that is read decides.
    func alphaPipes(of user: String) -> [String] {
        let video = StreamKind.camera.outputPrefix + PadName.escape(user)
        return user == context.user ? [PublishChannel.main.previewPad, video] : [video]
    }
}
