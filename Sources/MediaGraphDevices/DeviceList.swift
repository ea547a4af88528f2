import MediaGraphCore

/// The available devices, and the servers and drivers that couldn't be asked for theirs.
public struct DeviceList: Sendable {
    /// The devices, sorted by kind with cameras first, and in each kind with the default device first.
    public var devices: [MediaDevice]
    /// A `timeOut` error for each sound server, X server and driver that didn't answer. Their devices are missing from
    /// ``devices``.
    public var unanswered: [MediaGraphError]

    /// Creates a list of devices, with the errors of servers and drivers that didn't answer.
    public init(devices: [MediaDevice], unanswered: [MediaGraphError]) {
        self.devices = devices
        self.unanswered = unanswered
    }

    /// Creates a list from the listers' answers.
    ///
    /// - Parameters:
    ///   - kind: The kind of devices to include; `nil` for all.
    ///   - former: Returns the answer to use for a lister that didn't answer.
    init(
        _ answers: [(lister: DeviceLister, answer: DeviceLister.Answer?)], of kind: MediaDevice.Kind? = nil,
        former: (DeviceLister) -> DeviceLister.Answer = { _ in DeviceLister.Answer() }
    ) {
        let heard = answers.flatMap { ($0.answer ?? former($0.lister)).devices }
            .filter { kind == nil || $0.kind == kind }
        devices = DeviceProbe.merged(heard, of: kind)
        unanswered = answers.filter { $0.answer == nil }.map { lister, _ in
            .timeOut(
                .init(
                    lister.name, actual: "didn't answer; its server or driver may be hanging, or refused the connection"
                ))
        }
    }
}
