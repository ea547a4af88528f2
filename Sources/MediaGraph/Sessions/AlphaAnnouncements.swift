import MediaGraphCore

/// A camera of a user: `video` or `videoAux`.
struct UserCamera: Sendable, Hashable {
    let user: String
    let stream: UserStream
}

/// Decides when a session's delegate is told that a user's video has gained or lost its alpha channel: once for each
/// change, and in order with the frames that delegates get. A pure value.
///
/// The room or the session's own `alphachannel` reports a change early. Each pipe that reads the video reports it again,
/// in order with the frames. If there is such a pipe, its report decides.
struct AlphaAnnouncements: Sendable {
    /// What the room or the `alphachannel` reported last.
    private var reported: [UserCamera: Bool] = [:]
    /// What the delegate was told last; `nil` means that there is no alpha.
    private var announced: [UserCamera: Bool] = [:]

    /// Records what the room, or the session's own `alphachannel`, says. Returns whether to tell the delegate now.
    mutating func recordReport(_ isOn: Bool, of camera: UserCamera, isRead: Bool) -> Bool {
        reported[camera] = isOn
        return !isRead && recordAnnouncement(isOn, of: camera)
    }

    /// Records that the frames of a user's pipe have changed. Returns whether to tell the delegate now.
    mutating func recordAnnouncement(_ isOn: Bool, of camera: UserCamera) -> Bool {
        defer { announced[camera] = isOn }
        return (announced[camera] ?? false) != isOn
    }

    /// Called when the pipe that decided is gone. Returns what to tell the delegate now: the change that the pipe's
    /// frames hadn't reached; `nil` if there is none.
    mutating func catchUp(on camera: UserCamera) -> Bool? {
        guard let isOn = reported[camera], recordAnnouncement(isOn, of: camera) else { return nil }
        return isOn
    }

    /// Forgets a user who has left. A user who comes back begins without alpha.
    mutating func forget(_ user: String) {
        reported = reported.filter { $0.key.user != user }
        announced = announced.filter { $0.key.user != user }
    }
}
