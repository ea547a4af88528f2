import GStreamer

/// A stream's status: on while its sender sends. A serialised sticky event downstream, and a message on the bus.
package enum StreamStatus {
    /// Field `on` (boolean).
    package static let eventName = "mediagraph-stream-status"

    package static func event(on: Bool) -> Structure { Structure(eventName, [("on", on)]) }

    static func message(on: Bool) -> Structure { Structure(eventName, [("on", on)]) }

    static let messageDeclaration = MessageDeclaration(
        eventName, "The sender of what this pipe receives started or stopped; once for each change",
        fields: [("on", "boolean", "true before the first frame, false after the last")])
}
