/// Receives the frames of one or many pipes (Zoom's `ZoomVideoSDKRawDataPipeDelegate`); see
/// ``RawDataPipeNode/subscribe(_:resolution:)``.
///
/// A pipe holds its delegates weakly: one that is gone counts as unsubscribed, and the pipe says so once, with a warning.
/// Calls about one pipe come one at a time and in stream order: status on, frames, status off. Where the pipe blocks, they
/// come on its streaming thread; where it drops, on a thread of the subscription's own, so that one slow delegate costs the
/// others nothing. A delegate of many pipes may be called about several at once.
public protocol RawDataDelegate: AnyObject, Sendable {
    /// One frame, borrowed for the call, in the format of the pipe and the resolution of the subscription. A thrown error
    /// ends the graph, unless the node's `on-error` says otherwise; in a ``Session`` it costs this delegate the frame.
    func received(_ frame: borrowing VideoFrame, from pipe: PipeIdentity) throws
    /// The same where the pipe has `buffer-type=native`. By default it throws `unsupported`.
    func received(_ frame: borrowing NativeVideoFrame, from pipe: PipeIdentity) throws
    /// The same where the pipe has `buffer-type=encoded`. By default it throws `unsupported`.
    func received(_ frame: borrowing EncodedVideoFrame, from pipe: PipeIdentity) throws
    /// The sender started (before its first frame) or stopped (after its last).
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

/// Which pipe a delegate is called about.
public struct PipeIdentity: Sendable, Hashable {
    /// The node's name in its graph.
    public let name: String
    /// What the pipe carries.
    public let kind: Kind
    /// Whose stream it is; `nil` outside of a session.
    public let user: String?

    /// What a pipe carries.
    public enum Kind: Sendable, Hashable {
        /// A camera, or any other stream.
        case video
        /// A shared screen.
        case share
    }

    package init(name: String, kind: Kind = .video, user: String? = nil) {
        self.name = name
        self.kind = kind
        self.user = user
    }
}
