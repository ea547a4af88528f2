import GStreamer
import MediaGraphCore

/// What a user sends to other users of a room besides media (the SDKs' command channel: Zoom's
/// `IZoomVideoSDKCmdChannel`, ZEGO's `sendCustomCommand`, Agora's data streams). MediaGraph delivers it unchanged; the
/// application gives it a meaning.
public enum SessionCommand: Sendable, Hashable {
    /// Text without NUL characters.
    case text(String)
    /// Any bytes.
    case bytes([UInt8])

    /// The greatest length of a command, in bytes; text is counted in UTF-8.
    public static let longest = 16 * 1024

    /// The length in bytes.
    var length: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        }
    }

    /// Throws `tooMuchAtOnce` if the command is too long, and `invalidParameter` if its text contains NUL.
    package func validate() throws(MediaGraphError) {
        guard length <= Self.longest else {
            throw .tooMuchAtOnce(.init("a command", expected: "at most \(Self.longest) bytes", actual: "\(length)"))
        }
        if case .text(let text) = self, text.utf8.contains(0) {
            throw .invalidParameter(
                .init("a command's text", actual: "contains a NUL character; send it as bytes"))
        }
    }
}

extension Element {
    /// Whether the element is a `mediasession`, which sends commands.
    package var sendsCommands: Bool { hasAction(MediaSessionElement.sendTextAction) }

    /// Sends a command from the user of this `mediasession` to another user or, if `recipient` is `nil`, to everybody else
    /// in the room. Throws what `Room.send` throws.
    package func send(_ command: SessionCommand, to recipient: String?) throws(MediaGraphError) {
        // Before the text becomes a C string, which would end at NUL.
        try command.validate()
        let details =
            switch (command, recipient) {
            case (.text(let text), let user?): perform(MediaSessionElement.sendTextAction, user, text)
            case (.text(let text), nil): perform(MediaSessionElement.sendTextToAllAction, text)
            case (.bytes(let bytes), let user?): perform(MediaSessionElement.sendBytesAction, user, bytes)
            case (.bytes(let bytes), nil): perform(MediaSessionElement.sendBytesToAllAction, bytes)
            }
        guard let details else { return }
        throw MediaGraphError(details: details) ?? .internalError(.init("the session", actual: "\(details)"))
    }
}
