import MediaGraphCore
import MediaGraphSession

/// A command that another user has sent.
public struct ReceivedCommand: Sendable, Hashable {
    /// The command, as it was sent.
    public let command: SessionCommand
    /// The user who has sent it. The user may have left by now.
    public let sender: SessionUser
    /// Whether everybody in the room gets the command, and not only the local user.
    public let isForAll: Bool
}

/// Sends commands to the other users of a room, and receives theirs (Zoom's `IZoomVideoSDKCmdChannel`).
///
/// A command is text or bytes, up to ``SessionCommand/longest``. It reaches users of this process and of other processes.
/// A user gets another user's commands in the order in which they were sent. All methods may be called from any task or
/// thread, and none waits for a recipient.
public struct SessionCommandChannel: Sendable {
    let session: Session

    /// Sends text to a user or, without `user`, to everybody else in the room (sendCommand).
    ///
    /// Throws `notInSession` before joining, `noSuchUser` if the user isn't in the room, `tooMuchAtOnce` if the text is
    /// longer than ``SessionCommand/longest`` bytes of UTF-8, `invalidParameter` if it contains NUL, and `tooFrequent` if
    /// a program doesn't read its commands fast enough. The error then names the users who don't get the command; the
    /// others do.
    public func send(_ text: String, to user: SessionUser? = nil) throws(MediaGraphError) {
        try send(.text(text), to: user)
    }

    /// Sends bytes, such as `Data`, to a user or, without `user`, to everybody else in the room.
    ///
    /// Throws what ``send(_:to:)`` throws, except `invalidParameter`.
    public func send(bytes: some Sequence<UInt8>, to user: SessionUser? = nil) throws(MediaGraphError) {
        try send(.bytes([UInt8](bytes)), to: user)
    }

    private func send(_ command: SessionCommand, to user: SessionUser?) throws(MediaGraphError) {
        try session.sessionGraph.element.send(command, to: user?.name)
    }

    /// The commands that other users send from now on (onCommandReceived). The stream ends when the session is released.
    ///
    /// Any number of tasks may read commands; each access makes a stream of its own that gets all of them. Unlike
    /// ``Session/events``, a stream holds unread commands without limit, so that none is lost.
    public var received: AsyncStream<ReceivedCommand> { session.commandReaders.makeStream() }
}

extension Session {
    /// Sends and receives commands.
    public var commandChannel: SessionCommandChannel { SessionCommandChannel(session: self) }
}
