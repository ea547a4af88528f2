/// Receives the frames of one or several pipes (Zoom's `ZoomVideoSDKRawDataPipeDelegate`); see
/// ``RawDataPipeNode/subscribe(_:resolution:format:)``.
///
/// A pipe holds its delegates weakly. A delegate that no longer exists counts as unsubscribed, and the pipe posts one
/// warning about it.
///
/// The calls for one pipe are made one at a time and in stream order: status on, frames, status off. If the pipe's
/// `backpressure` blocks, they are made on its streaming thread; if it drops frames, on the subscription's own thread,
/// so that a slow delegate doesn't delay the others. A delegate of several pipes may be called for several of them at
/// once.
public protocol RawDataDelegate: AnyObject, Sendable {
    /// Receives a frame, which is borrowed for the call, in the pipe's format and the subscription's resolution. A
    /// thrown error ends the graph, unless the node's `on-error` says otherwise. In a ``Session``, it costs what
    /// ``SessionContext/onError`` says.
    func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws
    /// Receives a frame of a pipe with `buffer-type=native`. The default implementation throws `unsupported`.
    func received(_ frame: borrowing NativeVideoFrame, from pipe: PipeIdentity) throws
    /// Receives an access unit of a pipe with `buffer-type=encoded`. The default implementation throws `unsupported`.
    func received(_ frame: borrowing EncodedVideoFrame, from pipe: PipeIdentity) throws
    /// Called when the sender has started, before its first frame, and when it has stopped, after its last frame.
    func statusChanged(isOn: Bool, of pipe: PipeIdentity)
}

extension RawDataDelegate {
    /// Throws `unsupported`.
    public func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws {
        throw MediaGraphError.doesNotTake(Self.self, .raw)
    }
    /// Throws `unsupported`.
    public func received(_ frame: borrowing NativeVideoFrame, from pipe: PipeIdentity) throws {
        throw MediaGraphError.doesNotTake(Self.self, .native)
    }
    /// Throws `unsupported`.
    public func received(_ frame: borrowing EncodedVideoFrame, from pipe: PipeIdentity) throws {
        throw MediaGraphError.doesNotTake(Self.self, .encoded)
    }
    /// Does nothing.
    public func statusChanged(isOn: Bool, of pipe: PipeIdentity) {}
}

/// Identifies the pipe that a delegate's call is about.
public struct PipeIdentity: Sendable, Hashable {
    /// The node's name in its graph.
    public let name: String
    /// What the pipe carries.
    public let kind: Kind
    /// The user whose stream it is; `nil` outside of a session.
    public let user: String?
    /// Whether the stream comes from the local user; false outside of a session.
    public let isLocal: Bool

    /// What a pipe carries.
    public enum Kind: Sendable, Hashable {
        /// A stream outside of a session.
        case stream
        /// A user's main or second camera, as the users in the room receive it.
        case camera(PublishChannel)
        /// The preview of the local user's main or second camera, which also runs without joining the room.
        case preview(PublishChannel)
        /// A shared screen.
        case share
    }

    package init(name: String, kind: Kind = .stream, user: String? = nil, isLocal: Bool = false) {
        self.name = name
        self.kind = kind
        self.user = user
        self.isLocal = isLocal
    }
}
