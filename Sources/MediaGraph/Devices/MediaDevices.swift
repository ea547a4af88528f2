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
    ///
    /// - Throws: `timeOut` where one of them hasn't answered after four seconds.
    public static func list() async throws(MediaGraphError) -> [MediaDevice] {
        let devices = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: Result { () throws(MediaGraphError) in try listNow() })
            }
        }
        return try devices.get()
    }

    /// The same, for a thread that may wait; with a kind at least those of it, and only who knows them is asked.
    package static func listNow(_ kind: MediaDevice.Kind? = nil) throws(MediaGraphError) -> [MediaDevice] {
        var found: [MediaDevice] = []
        if kind != .screen {
            found += try answer(unansweredSound, "sound servers and drivers that answer") {
                queue.sync { DeviceProbe.camerasAndSound() }
            }
        }
        if kind == nil || kind == .screen {
            found += try answer(unansweredScreens, "an X server that answers") { DeviceProbe.screens() }
        }
        return DeviceProbe.sorted(found)
    }

    /// Milliseconds.
    private static let patience: UInt64 = 4000

    /// Who was asked and hasn't answered: whoever asks next would wait behind him.
    private static let unansweredSound = BlockingMonitor(0)
    private static let unansweredScreens = BlockingMonitor(0)

    private static func answer(
        _ unanswered: BlockingMonitor<Int>, _ expected: String, _ question: @escaping @Sendable () -> [MediaDevice]
    ) throws(MediaGraphError) -> [MediaDevice] {
        if unanswered.withLock({ $0 <= 0 }) {
            let answer = DeviceCall().answer(within: patience, question) { _ in unanswered.withLock { $0 -= 1 } }
            if let answer { return answer }
            unanswered.withLock { $0 += 1 }
        }
        throw .timeOut(
            .init("the list of devices", expected: "\(expected) within \(patience) ms", actual: "one that hangs"))
    }

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
