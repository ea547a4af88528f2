import MediaGraphCore

/// The machine's cameras, microphones, speakers, screens and video outputs.
///
/// Cameras, microphones and speakers come from GStreamer's device providers: V4L2, PipeWire, PulseAudio, and ALSA if
/// there is no sound server. The screen is that of the X server in `DISPLAY`.
public enum MediaDevices {
    /// Returns all available devices. Takes as long as servers and drivers need to answer, usually some tenths of a
    /// second. Those that haven't answered after four seconds are reported in ``DeviceList/unanswered``.
    public static func list() async -> DeviceList { await list(within: timeout) }

    /// Returns all available devices, with another time limit.
    package static func list(within timeout: Duration) async -> DeviceList {
        await runBlocking { listNow(within: timeout) }
    }

    /// The time limit for servers and drivers to answer.
    package static let timeout = Duration.seconds(4)

    /// Returns the available devices of a kind, or all. Blocks: for threads that may wait. With a kind, only the
    /// providers of that kind are asked.
    package static func listNow(_ kind: MediaDevice.Kind? = nil, within time: Duration = timeout) -> DeviceList {
        let listers = DeviceLister.all.filter { lister in kind.map { lister.knows($0) } ?? true }
        return DeviceList(DeviceLister.ask(listers, within: time), of: kind)
    }

    /// The available devices, followed by the changes, until the stream is cancelled. Devices that don't report changes
    /// themselves are polled once a second.
    public static var changes: AsyncStream<DeviceChange> {
        AsyncStream { continuation in
            let watch = DeviceWatch { continuation.yield($0) }
            continuation.onTermination = { _ in watch.stop() }
            watch.start()
        }
    }
}
