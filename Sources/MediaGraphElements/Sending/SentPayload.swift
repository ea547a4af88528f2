import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// A buffer on its way through a gate, from a sender to the streaming thread.
///
/// A conforming structure must not contain references that Swift counts: each move through the queue and the lock would
/// retain and release them.
protocol SentPayload: Queueable, Sendable where Format: SentFormatDescription, Format.Payload == Self {
    /// The C structure in which the sender passes the media.
    associatedtype Outgoing: OutgoingMedia
    /// What the source's declarations and the node's properties allow.
    associatedtype Rules: Sendable
    /// Metadata that the node adds to each payload.
    associatedtype Marks: Sendable

    /// The action that a refusal is about, such as "sending a frame": the subject of error messages.
    static var actionName: String { get }
    static var log: DebugCategory { get }
    /// The rules before a node or a source has set any.
    static var initialRules: Rules { get }
    /// Whether the streaming thread also waits for the clock, and must be woken when a payload arrives.
    static var isClocked: Bool { get }

    /// Returns the buffer. Call either `take` or `discard`, exactly once, and never under a lock: freeing the buffer
    /// can call the sender's code.
    func take() -> Buffer
}

extension SentPayload {
    @inline(__always)
    func discard() { _ = take() }
}

/// A C structure in which a sender passes media to the node.
protocol OutgoingMedia {
    /// Running time in nanoseconds, or `GST_CLOCK_TIME_NONE`.
    var timestamp: UInt64 { get }
    /// Releases the memory or the buffer that the sender passed with a refused payload.
    func releaseMedia()
}

/// The format of payloads. Made once and shared by all payloads until the format changes.
protocol SentFormatDescription: AnyObject, Sendable {
    associatedtype Payload: SentPayload
    /// Throws an error that says what was expected if the payload is invalid or `rules` forbid it.
    init(_ outgoing: Payload.Outgoing, _ rules: Payload.Rules) throws(MediaGraphError)
    /// Returns whether `outgoing` has this format and complete data.
    func accepts(_ outgoing: UnsafePointer<Payload.Outgoing>) -> Bool
    /// Makes a payload that takes over the data of `outgoing`, copying the data only if necessary.
    consuming func payload(_ outgoing: UnsafePointer<Payload.Outgoing>, _ marks: Payload.Marks) throws(MediaGraphError)
        -> Payload
    /// The declared rate limit, for the error about a payload that exceeds it.
    var rateLimit: String { get }
}
