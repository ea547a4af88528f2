import Dispatch
import GStreamer

/// The machine's cameras, microphones, speakers and screens.
///
/// Cameras, microphones and speakers are those of GStreamer's device providers: V4L2 and PipeWire, PulseAudio, and ALSA where no
/// sound server stands before it. A screen is the X server's that `DISPLAY` names.
public enum MediaDevices {
    private static let queue = DispatchQueue(label: "mediagraph.devices")

    /// All that are there: cameras first, of each kind the default first. Takes as long as servers and drivers take to answer,
    /// which is tenths of a second.
    public static func list() async -> [MediaDevice] {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: DeviceProbe.list()) }
        }
    }

    /// The same, for a thread that may wait.
    package static func listNow() -> [MediaDevice] { queue.sync { DeviceProbe.list() } }

    /// Those that are there, and then what comes and goes, until it is no longer read. Sound cards and cameras that say nothing
    /// themselves are looked after once a second.
    public static var changes: AsyncStream<DeviceChange> {
        AsyncStream { continuation in
            let watch = DeviceWatch(on: queue) { continuation.yield($0) }
            continuation.onTermination = { _ in watch.stop() }
            watch.start()
        }
    }
}
