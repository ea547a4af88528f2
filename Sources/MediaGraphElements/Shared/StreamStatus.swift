import GStreamer

/// A custom upstream event with which a receiver asks its sources to stop sending until further notice, and to start
/// again. Sources call `stopSend` and `startSend`; other elements pass the event on.
package enum SendRequest {
    private static let eventName = "mediagraph-send-request"

    package static func event(on: Bool) -> Structure { Structure(eventName, [("on", on)]) }

    /// Returns whether sources are to send; `nil` if the structure is of another event.
    static func isOn(_ structure: Structure) -> Bool? { structure.name == eventName ? structure["on"] : nil }
}

/// The status of a stream, which is on while its sender sends. Travels downstream as a serialized sticky event, and is
/// posted on the bus as a message.
package enum StreamStatus {
    /// The name of the event and the message. Both have the field `on` (boolean).
    package static let eventName = "mediagraph-stream-status"

    package static func event(on: Bool) -> Structure { Structure(eventName, [("on", on)]) }

    static func message(on: Bool) -> Structure { Structure(eventName, [("on", on)]) }

    static let messageDeclaration = MessageDeclaration(
        eventName, "The sender of this pipe's stream started or stopped sending; posted once for each change",
        fields: [("on", "boolean", "true before the first frame, false after the last")])
}
