import GStreamer
import MediaGraphCore

/// The default device of a kind.
package enum DefaultDevice {
    /// Returns the description of the default device. Blocks for at most the given time. Throws `noDevice` if there is
    /// none, and `timeOut` if a server or driver that may have it didn't answer.
    package static func text(
        _ kind: DeviceKind, within time: Duration = MediaDevices.timeout
    ) throws(MediaGraphError) -> String {
        let list = MediaDevices.listNow(kind.kind, within: time)
        let devices = list.devices.filter { !$0.isMonitor }
        if let device = devices.first(where: { $0.isDefault == true }) { return device.text }
        // A lister that didn't answer may know the default device. If other cameras were found, that doesn't matter:
        // which camera is the default follows from the paths.
        if let error = list.unanswered.first, devices.isEmpty || kind != .camera { throw error }
        guard let device = devices.first else {
            if kind == .screen {
                let display = DeviceProbe.display
                throw .noDevice(
                    .init(
                        "can't open the screen",
                        actual: (display.map { "no X server at DISPLAY=\($0)" } ?? "DISPLAY isn't set")
                            + "; run `export DISPLAY=:0` in your session, or use `xvfb-run -a mediagraph run …`"))
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
