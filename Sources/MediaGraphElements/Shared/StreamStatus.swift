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
    private static let requestedField = "requested"

    /// - Parameters:
    ///   - on: Whether the sender sends.
    ///   - isRequested: Whether the sender has stopped because of a `SendRequest`. The event then also has the field
    ///     `requested` (boolean).
    package static func event(on: Bool, isRequested: Bool = false) -> Structure {
        Structure(eventName, [("on", on)] + (isRequested ? [(requestedField, true)] : []))
    }

    /// Returns whether a stream's event says that its sender has stopped because of a `SendRequest`.
    package static func isRequested(_ event: Structure) -> Bool { event[requestedField] ?? false }

    static func message(on: Bool) -> Structure { Structure(eventName, [("on", on)]) }

    static let messageDeclaration = MessageDeclaration(
        eventName, "The sender of this pipe's stream started or stopped sending; posted once for each change",
        fields: [("on", "boolean", "true before the first frame, false after the last")])
}
