import GStreamer

/// Receives the sound that a speaker would play (Zoom's `ZoomVideoSDKVirtualAudioSpeaker`): the mix of all users, each
/// user alone, and the sound of a share. The sound is 16-bit PCM with the node's `rate` and `channels`, whatever the
/// users send. Blocks need not have the sizes in which they were sent.
///
/// All calls are made one at a time, and those of each stream in order: status on, blocks, status off. The node's
/// `backpressure` decides on which thread. If it drops blocks, the calls are made on the node's own thread, and a slow
/// handler delays no stream. If it blocks, a block is delivered on the streaming thread of its stream, with that
/// stream's lock held, and all other calls to the handler wait. `registered` is called on the thread that gives the
/// handler to its node.
public protocol VirtualSpeaker: SendableMetatype {
    /// Called once, before any other method.
    mutating func registered(_ registration: SpeakerRegistration)
    /// Receives a block of the mix of all users (onVirtualSpeakerMixedAudioReceived), after the node's
    /// ``AudioProcessor``. Without a processor, each sample is the sum of the one-way streams' samples, clipped once at
    /// the end. A thrown error ends the graph, unless the node's `on-error` says otherwise.
    mutating func mixedAudioReceived(_ frame: borrowing AudioFrame) throws
    /// Receives a block of one user's sound (onVirtualSpeakerOneWayAudioReceived). A thrown error ends the graph,
    /// unless the node's `on-error` says otherwise.
    mutating func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) throws
    /// Receives a block of a share's sound (onVirtualSpeakerSharedAudioReceived), which isn't part of the mix. A thrown
    /// error ends the graph, unless the node's `on-error` says otherwise.
    mutating func sharedAudioReceived(_ frame: borrowing AudioFrame) throws
    /// Called when a stream has started, before its first block, and when it has ended, after its last block; for
    /// example because its user has joined or left.
    mutating func statusChanged(isOn: Bool, of stream: SpeakerStream)
    /// Called when all streams have ended, to finish files.
    mutating func finish() throws
}

extension VirtualSpeaker {
    /// Does nothing.
    public mutating func registered(_ registration: SpeakerRegistration) {}
    /// Does nothing.
    public mutating func mixedAudioReceived(_ frame: borrowing AudioFrame) throws {}
    /// Does nothing.
    public mutating func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) throws {}
    /// Does nothing.
    public mutating func sharedAudioReceived(_ frame: borrowing AudioFrame) throws {}
    /// Does nothing.
    public mutating func statusChanged(isOn: Bool, of stream: SpeakerStream) {}
    /// Does nothing.
    public mutating func finish() throws {}
}

/// The user of a one-way stream.
public struct SpeakerUser: Sendable, Hashable {
    /// The user's name, from the stream's ID `room/user/kind`, or otherwise from the pad's name `user_NAME`.
    public let name: String
    /// The room's name, from the stream's ID; `nil` outside of a session.
    public let room: String?

    /// Creates a user; `room` is `nil` outside of a session.
    public init(name: String, room: String? = nil) {
        self.name = name
        self.room = room
    }
}

/// One of the streams that a speaker delivers.
public enum SpeakerStream: Sendable, Hashable {
    /// All users together.
    case mixed
    /// One user alone.
    case oneWay(SpeakerUser)
    /// The sound of a share.
    case shared

    /// The stream's name in messages: "mixed", "one-way" or "shared".
    public var kind: String {
        switch self {
        case .mixed: "mixed"
        case .oneWay: "one-way"
        case .shared: "shared"
        }
    }

    /// The user of a one-way stream; `nil` for the others.
    public var user: SpeakerUser? { if case .oneWay(let user) = self { user } else { nil } }
}

/// An owned block of audio with its stream. It may be kept and sent to other tasks.
public struct SpeakerAudio: Sendable {
    /// The stream that the block belongs to.
    public let stream: SpeakerStream
    /// The block.
    public let frame: OwnedAudioFrame

    package init(stream: SpeakerStream, frame: OwnedAudioFrame) {
        self.stream = stream
        self.frame = frame
    }
}

/// A handler's connection to its speaker.
public struct SpeakerRegistration: Sendable {
    private let node: WeakElement

    init(_ node: WeakElement) { self.node = node }

    /// The node's name in its graph; empty after the node was destroyed.
    public var name: String { node.name }

    /// Posts an element message on the bus, with the node as its source. May be called on any thread. Does nothing
    /// after the node was destroyed.
    public func post(_ structure: Structure) { node.post(structure) }
}
