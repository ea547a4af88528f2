import GStreamer

/// The device of a kind that is used where none is named.
package enum DefaultDevice {
    /// Its description. It blocks.
    package static func text(_ kind: DeviceKind) throws(MediaGraphError) -> String {
        let all = try MediaDevices.listNow(kind.kind).filter { $0.kind == kind.kind }
        let devices = all.filter { !$0.isMonitor }
        guard let device = devices.first(where: { $0.isDefault == true }) ?? devices.first else {
            throw .noDevice(
                .init(
                    "a \(kind.nick)", expected: "one that is plugged in; `mediagraph devices` lists what there is",
                    actual: all.isEmpty ? "none" : "only what speakers play"))
        }
        return device.text
    }
}
