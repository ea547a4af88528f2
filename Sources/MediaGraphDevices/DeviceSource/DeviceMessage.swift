import GStreamer
import MediaGraphCore

/// The element messages that a `devicesource` posts.
package enum DeviceMessage {
    package static let formatName = "mediagraph-device-format"
    package static let lostName = "mediagraph-device-lost"
    package static let backName = "mediagraph-device-back"

    static func format(_ device: String, _ format: String) -> Structure {
        Structure(formatName, [("device", device), ("format", format)])
    }

    static func lost(_ device: String, at time: ClockTime, _ reason: MediaGraphError) -> Structure {
        Structure(lostName, [("device", device), ("lost-at", time.nanoseconds), ("reason", "\(reason)")])
    }

    static func back(_ device: String, lostAt: ClockTime, backAt: ClockTime) -> Structure {
        let gap = (backAt - lostAt).nanoseconds
        return Structure(
            backName,
            [
                ("device", device), ("lost-at", lostAt.nanoseconds), ("back-at", backAt.nanoseconds), ("gap", gap),
            ])
    }

    static let declarations = [
        MessageDeclaration(
            formatName, "The device's format that was chosen",
            fields: [("device", "string", "the device's name"), ("format", "string", "such as YUY2 640×480@30")]),
        MessageDeclaration(
            lostName, "The device was lost, and the graph continues without it",
            fields: [
                ("device", "string", "the device's name"),
                ("lost-at", "uint64", "running time at which its data ended, in nanoseconds"),
                ("reason", "string", "what happened"),
            ]),
        MessageDeclaration(
            backName, "The device has returned",
            fields: [
                ("device", "string", "the device's name"), ("lost-at", "uint64", "as in mediagraph-device-lost"),
                ("back-at", "uint64", "running time at which its data resumed, in nanoseconds"),
                ("gap", "uint64", "the time between the two, in nanoseconds"),
            ]),
    ]
}
