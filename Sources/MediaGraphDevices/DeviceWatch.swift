import Dispatch
import Foundation
import GStreamer
import Synchronization

/// Reports devices that are added and removed. Providers that watch their devices trigger a new look. For the others,
/// the kernel's device files and lists are compared once a second.
final class DeviceWatch: Sendable {
    private struct State: Sendable {
        var known: [MediaDevice.ID: MediaDevice] = [:]
        /// The last answer of each lister.
        var answers: [String: DeviceLister.Answer] = [:]
        /// The listers that don't answer and were reported.
        var silent: Set<String> = []
        var isStopped = false
        var isLooking = false
        var snapshot: Snapshot?
    }

    private let queue = DispatchQueue(label: "mediagraph.devices.watch")
    private let state = Mutex(State())
    private let changed: @Sendable (DeviceChange) -> Void

    init(_ changed: @escaping @Sendable (DeviceChange) -> Void) { self.changed = changed }

    func start() {
        DeviceLister.add({ [weak self] in self?.lookSoon() }, of: self)
        for lister in DeviceLister.all { lister.hold() }
        queue.async { [self] in
            look()
            pollLater()
        }
    }

    /// Stops the watch. Call it once, after `start`.
    func stop() {
        state.withLock { $0.isStopped = true }
        DeviceLister.removeListener(of: self)
        for lister in DeviceLister.all { lister.release() }
    }

    /// Looks again in a moment. A new device often causes several notifications.
    private func lookSoon() {
        let isFirst = state.withLock { state in
            defer { state.isLooking = true }
            return !state.isLooking
        }
        guard isFirst else { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(50)) { [weak self] in self?.look() }
    }

    private func look() {
        guard !state.withLock({ $0.isStopped }) else { return }
        // Changes from now on cause another look.
        let snapshot = Snapshot.now
        let before = state.withLock { state in
            defer { (state.isLooking, state.snapshot) = (false, snapshot) }
            return state.snapshot
        }
        if let before {
            let haveSoundServersChanged = before.soundServers != snapshot.soundServers
            if haveSoundServersChanged { restart(.microphone) }
            if before.virtualCameras != snapshot.virtualCameras { restart(.camera) }
            // A server that has just started may not answer yet.
            if haveSoundServersChanged || before.screens != snapshot.screens {
                lookLater(restarts: haveSoundServersChanged)
            }
        }
        let answers = DeviceLister.ask(DeviceLister.all, within: MediaDevices.timeout)
        let (gone, come, silent) = state.withLock { state in
            // A lister that doesn't answer keeps the devices of its last answer.
            for (lister, answer) in answers { if let answer { state.answers[lister.factoryName] = answer } }
            let list = DeviceList(answers) { state.answers[$0.factoryName] ?? DeviceLister.Answer() }
            let ids = Set(list.devices.map(\.id))
            let gone = state.known.values.filter { !ids.contains($0.id) }.sorted { $0.path < $1.path }
            let come = list.devices.filter { state.known[$0.id] == nil }
            state.known = Dictionary(list.devices.map { ($0.id, $0) }) { first, _ in first }
            let silent = list.unanswered.filter { !state.silent.contains($0.detail.subject) }
            state.silent = Set(list.unanswered.map(\.detail.subject))
            return (gone, come, silent)
        }
        for device in gone { changed(.removed(device)) }
        for device in come { changed(.added(device)) }
        for error in silent { changed(.unanswered(error)) }
    }

    private func restart(_ kind: MediaDevice.Kind) {
        for lister in DeviceLister.all where lister.knows(kind) { lister.restart() }
    }

    private func lookLater(restarts: Bool) {
        queue.asyncAfter(deadline: .now() + 1) { [weak self] in
            guard let self, !state.withLock({ $0.isStopped }) else { return }
            if restarts { restart(.microphone) }
            look()
        }
    }

    private func pollLater() {
        queue.asyncAfter(deadline: .now() + 1) { [weak self] in
            guard let self, !state.withLock({ $0.isStopped }) else { return }
            // A server that refuses connections doesn't notify when it accepts them again.
            let (snapshot, isAnyListerSilent) = state.withLock { ($0.snapshot, !$0.silent.isEmpty) }
            if isAnyListerSilent || snapshot != Snapshot.now { look() }
            pollLater()
        }
    }

    /// The state of V4L2's device files, ALSA's list of streams, and the sockets of X and sound servers. They show
    /// changes that providers don't report: a sound server's provider doesn't look for a new server after its own has
    /// ended, and V4L2's provider doesn't notice when a program starts to write to a virtual camera.
    private struct Snapshot: Sendable, Equatable {
        var cameras: [String]
        /// The sysfs attributes of each v4l2loopback device that change when a program starts to write to it: `state`
        /// since version 0.13, `format` before.
        var virtualCameras: [String: [String]]
        var sound: String
        var screens: [String]
        var soundServers: [String]

        static var now: Snapshot {
            let files = (try? FileManager.default.contentsOfDirectory(atPath: "/dev")) ?? []
            let cameras = files.filter { $0.hasPrefix("video") }.sorted()
            return Snapshot(
                cameras: cameras,
                virtualCameras: cameras.reduce(into: [:]) { states, camera in
                    let said = ["state", "format"].compactMap {
                        try? String(contentsOfFile: "/sys/class/video4linux/\(camera)/\($0)", encoding: .utf8)
                    }
                    if !said.isEmpty { states[camera] = said }
                },
                sound: (try? String(contentsOfFile: "/proc/asound/pcm", encoding: .utf8)) ?? "",
                screens: ServerSockets.screens, soundServers: ServerSockets.sound)
        }
    }
}
