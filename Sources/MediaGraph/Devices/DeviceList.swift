/// The devices that are there, and who couldn't say what he has.
public struct DeviceList: Sendable {
    /// Cameras first, of each kind the default first.
    public var devices: [MediaDevice]
    /// A `timeOut` for each sound server, X server and driver that hasn't answered: its devices aren't among these.
    public var unanswered: [MediaGraphError]

    public init(devices: [MediaDevice], unanswered: [MediaGraphError]) {
        self.devices = devices
        self.unanswered = unanswered
    }

    init(_ answers: [(lister: DeviceLister, answer: DeviceLister.Answer?)], within milliseconds: UInt64) {
        let hidden = answers.flatMap { $0.answer?.hiddenProviders ?? [] }
        let heard = answers.filter { !hidden.contains($0.lister.provider?.factoryName ?? "") }
            .flatMap { $0.answer?.devices ?? [] }
        let isSoundWanted = answers.contains { $0.lister.knows(.microphone) }
        devices = DeviceProbe.merged(heard, withSound: isSoundWanted)
        unanswered = answers.filter { $0.answer == nil }.map { lister, _ in
            .timeOut(
                .init(
                    lister.name, expected: "an answer within \(milliseconds) ms",
                    actual: "none: the server or the driver behind it hangs"))
        }
    }
}
