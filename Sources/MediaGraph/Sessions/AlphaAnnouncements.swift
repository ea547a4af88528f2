import MediaGraphCore
import MediaGraphDescription
import MediaGraphSession

/// Decides when a session's delegate is told that a user's video has an alpha channel, or no longer: once for each
/// change, and in order with the frames that delegates get. A pure value.
///
/// A change is heard early, from the room or from the session's own `alphachannel`, and again, in order with the frames,
/// from each pipe that reads the video. The pipe decides if there is one.
struct AlphaAnnouncements: Sendable {
    /// What was heard early.
    private var heard: [String: Bool] = [:]
    /// What the delegate was told last; `nil` means that there is no alpha.
    private var told: [String: Bool] = [:]

    /// Records what the room, or the session's own `alphachannel`, says. Returns whether to tell the delegate now.
    mutating func hear(_ isOn: Bool, of user: String, isRead: Bool) -> Bool {
        heard[user] = isOn
        return !isRead && tell(isOn, of: user)
    }

    /// Records that the frames of a user's pipe have changed. Returns whether to tell the delegate now.
    mutating func tell(_ isOn: Bool, of user: String) -> Bool {
        defer { told[user] = isOn }
        return (told[user] ?? false) != isOn
    }

    /// Called when the pipe that decided is gone. Returns what to tell the delegate now: the change that the pipe's
    /// frames hadn't got to; `nil` if there is none.
    mutating func catchUp(on user: String) -> Bool? {
        guard let isOn = heard[user], tell(isOn, of: user) else { return nil }
        return isOn
    }

    /// Forgets a user who has left. A user who comes back begins without alpha.
    mutating func forget(_ user: String) { (heard[user], told[user]) = (nil, nil) }
}

extension Session {
    /// The names of the pipes whose frames show when a user's alpha channel changes; the first one that is read decides.
    func alphaPipes(of user: String) -> [String] {
        let video = StreamKind.camera.outputPrefix + PadName.escape(user)
        return user == context.user ? [PublishChannel.main.previewPad, video] : [video]
    }
}
