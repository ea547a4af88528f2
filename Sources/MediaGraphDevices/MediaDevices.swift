import Dispatch

/// The machine's cameras, microphones, speakers, screens and video outputs.
///
/// Cameras, microphones and speakers are those of GStreamer's device providers: V4L2 and PipeWire, PulseAudio, and ALSA where no
/// sound server stands before it. A screen is the X server's that `DISPLAY` names.
public enum MediaDevices {
    /// All that are there. Takes as long as servers and drivers take to answer, which is tenths of a second; who hasn't after
    /// four seconds is among ``DeviceList/unanswered``.
    public static func list() async -> DeviceList { await list(within: patience) }

    /// The same with another patience, in milliseconds.
    package static func list(within patience: UInt64) async -> DeviceList {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: listNow(within: patience)) }
        }
    }

    /// Milliseconds that servers and drivers have.
    package static let patience: UInt64 = 4000

    /// The same, for a thread that may wait; of a kind, only who knows it is asked.
    package static func listNow(_ kind: MediaDevice.Kind? = nil, within milliseconds: UInt64 = patience) -> DeviceList {
        let listers = DeviceLister.all.filter { lister in kind.map { lister.knows($0) } ?? true }
        return DeviceList(DeviceLister.ask(listers, within: milliseconds), of: kind)
    }

    /// Those that are there, and then what comes and goes, until it is no longer read. Sound cards and cameras that say nothing
    /// themselves are looked after once a second.
    public static var changes: AsyncStream<DeviceChange> {
        AsyncStream { continuation in
            let watch = DeviceWatch { continuation.yield($0) }
            continuation.onTermination = { _ in watch.stop() }
            watch.start()
        }
    }
}
