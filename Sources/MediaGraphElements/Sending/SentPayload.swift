import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// What goes through a gate: a buffer on its way from a sender to the streaming thread.
///
/// Conform with a structure that has no reference that Swift counts: it moves through queue and lock.
protocol SentPayload: Queueable, Sendable where Format: SentFormatDescription, Format.Payload == Self {
    /// As it comes in, in C.
    associatedtype Outgoing: OutgoingMedia
    /// What a source's declarations and a node's properties allow.
    associatedtype Rules: Sendable
    /// What else a node adds to each, whatever it is.
    associatedtype Marks: Sendable

    /// What a refusal is about, such as "sending a frame".
    static var act: String { get }
    static var log: DebugCategory { get }
    static var anything: Rules { get }
    /// The streaming thread waits by the clock too, and looks again when something comes in.
    static var isClocked: Bool { get }

    /// `take` or `discard` is called once; never under a lock, for the memory goes back to whoever handed it over.
    func take() -> Buffer
}

extension SentPayload {
    @inline(__always)
    func discard() { _ = take() }
}

/// A C structure that media is handed over in.
protocol OutgoingMedia {
    /// Running time, or GST_CLOCK_TIME_NONE.
    var timestamp: UInt64 { get }
    /// Lets go of what was handed over and isn't wanted.
    func giveBack()
}

/// The format of payloads. Made once and shared by all payloads until the format changes.
protocol SentFormatDescription: AnyObject, Sendable {
    associatedtype Payload: SentPayload
    /// Throws, with what was expected, if the payload is invalid or `rules` forbid it.
    init(_ outgoing: Payload.Outgoing, _ rules: Payload.Rules) throws(MediaGraphError)
    /// Whether `outgoing` has this format and complete data.
    func accepts(_ outgoing: UnsafePointer<Payload.Outgoing>) -> Bool
    /// Makes a payload that takes over the data of `outgoing`; copies the data only where it must.
    consuming func payload(_ outgoing: UnsafePointer<Payload.Outgoing>, _ marks: Payload.Marks) throws(MediaGraphError)
        -> Payload
    /// What was expected of a payload that came too soon.
    var pace: String { get }
}
