import MediaGraphCore

/// The devices that are there, and who couldn't say what he has.
public struct DeviceList: Sendable {
    /// Cameras first, of each kind the default first.
    public var devices: [MediaDevice]
    /// A `timeOut` for each sound server, X server and driver that hasn't answered: its devices aren't among these.
    public var unanswered: [MediaGraphError]

    /// A list of devices, with the errors of what couldn't be asked.
    public init(devices: [MediaDevice], unanswered: [MediaGraphError]) {
        self.devices = devices
        self.unanswered = unanswered
    }

    /// - Parameters:
    ///   - kind: which are wanted; `nil` for all.
    ///   - former: what stands for the answer of who hasn't answered.
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
