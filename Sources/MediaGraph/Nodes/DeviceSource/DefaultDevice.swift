import GStreamer

/// The device of a kind that is used where none is named.
package enum DefaultDevice {
    /// Its description. It blocks, but no longer than so many milliseconds.
    package static func text(
        _ kind: DeviceKind, within milliseconds: UInt64 = MediaDevices.patience
    ) throws(MediaGraphError) -> String {
        let list = MediaDevices.listNow(kind.kind, within: milliseconds)
        let devices = list.devices.filter { !$0.isMonitor }
        if let device = devices.first(where: { $0.isDefault == true }) { return device.text }
        // Who hasn't answered may have the default one; of a camera only its path says so.
        if let error = list.unanswered.first, devices.isEmpty || kind != .camera { throw error }
        guard let device = devices.first else {
            if kind == .screen {
                let display = DeviceProbe.display
                throw .noDevice(
                    .init(
                        "a screen",
                        expected:
                            "an X server: export DISPLAY=:0 in a session of yours, or xvfb-run -a mediagraph run …",
                        actual: display.map { "none at DISPLAY=\($0)" } ?? "none: DISPLAY isn't set"))
            }
            let server = kind == .microphone ? ServerSockets.namedSoundServer : nil
            let missing =
                list.devices.isEmpty
                ? server.map { "the sound server at PULSE_SERVER=\($0) has no \(kind.nick)" }
                    ?? "no \(kind.nick) is plugged in"
                : "there is no \(kind.nick), only monitors of speakers"
            throw .noDevice(.init("\(missing); `mediagraph devices` lists the devices"))
        }
        return device.text
    }
}
