import GStreamer
import MediaGraphCore

/// What a `devicesource` says on the bus.
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
        let gap = backAt.nanoseconds - min(backAt.nanoseconds, lostAt.nanoseconds)
        return Structure(
            backName,
            [
                ("device", device), ("lost-at", lostAt.nanoseconds), ("back-at", backAt.nanoseconds), ("gap", gap),
            ])
    }

    static let declarations = [
        MessageDeclaration(
            formatName, "Which of the device's formats was picked",
            fields: [("device", "string", "its name"), ("format", "string", "such as YUY2 640×480@30")]),
        MessageDeclaration(
            lostName, "The device has gone, and the graph goes on without it",
            fields: [
                ("device", "string", "its name"),
                ("lost-at", "uint64", "running time up to which it gave data, nanoseconds"),
                ("reason", "string", "what happened"),
            ]),
        MessageDeclaration(
            backName, "The device is back",
            fields: [
                ("device", "string", "its name"), ("lost-at", "uint64", "as mediagraph-device-lost has it"),
                ("back-at", "uint64", "running time from which it gives data again, nanoseconds"),
                ("gap", "uint64", "what lies between the two, nanoseconds"),
            ]),
    ]
}
