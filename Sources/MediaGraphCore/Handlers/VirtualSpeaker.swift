import GStreamer

/// Receives what a speaker would play (Zoom's `ZoomVideoSDKVirtualAudioSpeaker`): the mix of all users, each user alone, and
/// the sound of a share. 16-bit PCM, in the node's `rate` and `channels`, whatever the users send.
///
/// All calls come one at a time, and each stream's in order: status on, blocks, status off. On which thread is the node's
/// `backpressure` to say. Where it drops, on a thread of the node's own: a slow handler holds up no stream. Where it blocks,
/// on the streaming thread of the stream that the block is of, that stream's lock held, and whatever else the handler is to
/// be told waits. `registered` comes on the thread that gives the handler to its node.
public protocol VirtualSpeaker: SendableMetatype {
    /// Once, before anything else.
    mutating func registered(_ registration: SpeakerRegistration)
    /// A block of what all users say together (onVirtualSpeakerMixedAudioReceived), as the node's editor left it. Without
    /// one it is, sample for sample, the sum of the one-way streams, clipped once at the end. A thrown error ends the graph.
    mutating func mixedAudioReceived(_ frame: borrowing AudioFrame) throws
    /// A block of what one user says (onVirtualSpeakerOneWayAudioReceived).
    mutating func oneWayAudioReceived(_ frame: borrowing AudioFrame, user: SpeakerUser) throws
    /// A block of a share's sound (onVirtualSpeakerSharedAudioReceived). It isn't part of the mix.
    mutating func sharedAudioReceived(_ frame: borrowing AudioFrame) throws
    /// A stream has begun (before its first block) or ended (after its last): its user, say, has come or gone.
    mutating func statusChanged(isOn: Bool, of stream: SpeakerStream)
    /// All streams have ended: finish files.
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

/// Who is heard in a one-way stream.
public struct SpeakerUser: Sendable, Hashable {
    /// From the stream's ID, `room/user/kind`; where that is none such, what follows `user_` in the pad's name.
    public let name: String
    /// From the stream's ID; `nil` outside of a session.
    public let room: String?

    /// A user; `room` is `nil` outside of a session.
    public init(name: String, room: String? = nil) {
        self.name = name
        self.room = room
    }
}

/// One of the streams that a speaker hands over.
public enum SpeakerStream: Sendable, Hashable {
    /// All users together.
    case mixed
    /// One user alone.
    case oneWay(SpeakerUser)
    /// A share's sound.
    case shared

    /// What messages call it: "mixed", "one-way", "shared".
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

/// A block of audio that may be kept and sent to other tasks, with the stream that it is of.
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

/// A handler's place at its speaker.
public struct SpeakerRegistration: Sendable {
    private let node: WeakElement

    init(_ node: WeakElement) { self.node = node }

    /// The node's name in its graph; empty once it is gone.
    public var name: String { node.name }

    /// Posts an element message on the bus, as the node's. Any thread; nothing once the node is gone.
    public func post(_ structure: Structure) { node.post(structure) }
}
