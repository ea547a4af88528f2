import Dispatch
import Foundation
import GStreamer
import Synchronization

/// Tells what comes and goes: providers that watch say when to look again, and for the others the places where the kernel shows
/// devices are compared once a second.
final class DeviceWatch: Sendable {
    private struct State: Sendable {
        var known: [MediaDevice.ID: MediaDevice] = [:]
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
        // One that has just come may not answer yet.
        if let before, before.servers != places.servers {
            restartSoundServers()
            restartLater()
        }
        let list = MediaDevices.listNow()
        let (gone, come, silent) = state.withLock { state in
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

    private func restartSoundServers() {
        for lister in DeviceLister.all where lister.knows(.microphone) { lister.restart() }
    }

    private func restartLater() {
        queue.asyncAfter(deadline: .now() + 1) { [weak self] in
            guard let self, !state.withLock({ $0.isStopped }) else { return }
            restartSoundServers()
            look()
        }
    }

    private func comparePlacesLater() {
        queue.asyncAfter(deadline: .now() + 1) { [weak self] in
            guard let self, !state.withLock({ $0.isStopped }) else { return }
            if state.withLock({ $0.places }) != Places.now { look() }
            comparePlacesLater()
        }
    }

    /// V4L2's device files, ALSA's list of streams, and the sockets of X and sound servers. The provider of a sound server that
    /// has ended never looks for another.
    private struct Places: Sendable, Equatable {
        var cameras: [String]
        var sound: String
        var screens: [String]
        /// A new server makes a new socket.
        var servers: [String]

        static var now: Places {
            func files(_ folder: String) -> [String] {
                ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
            }
            let listening = listeningSockets
            return Places(
                cameras: files("/dev").filter { $0.hasPrefix("video") },
                sound: (try? String(contentsOfFile: "/proc/asound/pcm", encoding: .utf8)) ?? "",
                screens: files("/tmp/.X11-unix"),
                servers: soundServers.compactMap { path in
                    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
                    return attributes.map {
                        "\(path) \($0[.systemFileNumber] ?? 0) \($0[.creationDate] ?? $0[.modificationDate] ?? 0) "
                            + "\(listening.contains(path))"
                    }
                })
        }

        /// The paths of the sockets that a process answers at: a server that was killed leaves its file behind.
        private static var listeningSockets: Set<String> {
            let list = (try? String(contentsOfFile: "/proc/net/unix", encoding: .utf8)) ?? ""
            return Set(
                list.split(separator: "\n").compactMap { line in
                    // Number, reference count, protocol, flags, type, state, inode, path.
                    let fields = line.split(separator: " ", maxSplits: 7)
                    return fields.count == 8 && fields[3] == "00010000" ? String(fields[7]) : nil
                })
        }

        /// Of PulseAudio, and what stands in for it, and of PipeWire.
        private static let soundServers: [String] = {
            let environment = ProcessInfo.processInfo.environment
            let folder = environment["XDG_RUNTIME_DIR"] ?? "/run/user/\(getuid())"
            // As `{machine}unix:/path tcp:host`.
            let named = (environment["PULSE_SERVER"] ?? "").split(separator: " ").compactMap { server in
                server.range(of: "unix:").map { String(server[$0.upperBound...]) }
                    ?? (server.hasPrefix("/") ? String(server) : nil)
            }
            return named + ["\(folder)/pulse/native", "\(folder)/pipewire-0"]
        }()
    }
}
