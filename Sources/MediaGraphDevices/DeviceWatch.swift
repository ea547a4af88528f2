import Dispatch
import Foundation
import GStreamer
import Synchronization

/// Tells what comes and goes: providers that watch say when to look again, and for the others the places where the kernel shows
/// devices are compared once a second.
final class DeviceWatch: Sendable {
    private struct State: Sendable {
        var known: [MediaDevice.ID: MediaDevice] = [:]
        /// What each has said last.
        var answers: [String: DeviceLister.Answer] = [:]
        /// Who hasn't answered, and was told of.
        var silent: Set<String> = []
        var isStopped = false
        var isLooking = false
        var places: Places?
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
            comparePlacesLater()
        }
    }

    /// Once, behind `start`.
    func stop() {
        state.withLock { $0.isStopped = true }
        DeviceLister.removeListener(of: self)
        for lister in DeviceLister.all { lister.release() }
    }

    /// A device often comes with several messages.
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
        // What is said from here on is looked after once more.
        let places = Places.now
        let before = state.withLock { state in
            defer { (state.isLooking, state.places) = (false, places) }
            return state.places
        }
        if let before {
            let areSoundServersOthers = before.soundServers != places.soundServers
            if areSoundServersOthers { restart(.microphone) }
            if before.virtualCameras != places.virtualCameras { restart(.camera) }
            // One that has just come may not answer yet.
            if areSoundServersOthers || before.screens != places.screens { lookLater(restarts: areSoundServersOthers) }
        }
        let answers = DeviceLister.ask(DeviceLister.all, within: MediaDevices.patience)
        let (gone, come, silent) = state.withLock { state in
            // Who doesn't answer may have what he had.
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

    private func comparePlacesLater() {
        queue.asyncAfter(deadline: .now() + 1) { [weak self] in
            guard let self, !state.withLock({ $0.isStopped }) else { return }
            // Who refuses says nothing when he has changed his mind.
            let (places, isSomebodySilent) = state.withLock { ($0.places, !$0.silent.isEmpty) }
            if isSomebodySilent || places != Places.now { look() }
            comparePlacesLater()
        }
    }

    /// V4L2's device files, ALSA's list of streams, and the sockets of X and sound servers. The provider of a sound server that
    /// has ended never looks for another; nor is V4L2's told that a program writes to a virtual camera from now on.
    private struct Places: Sendable, Equatable {
        var cameras: [String]
        /// What v4l2loopback says of each, which is another while a program writes to it: `state` from version 0.13 on, `format`
        /// before.
        var virtualCameras: [String: [String]]
        var sound: String
        var screens: [String]
        var soundServers: [String]

        static var now: Places {
            let files = (try? FileManager.default.contentsOfDirectory(atPath: "/dev")) ?? []
            let cameras = files.filter { $0.hasPrefix("video") }.sorted()
            return Places(
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
