import Dispatch
import Foundation
import GStreamer
import Synchronization

/// Tells what comes and goes: providers that watch say when to look again, and for the others the places where the kernel shows
/// devices are compared once a second.
final class DeviceWatch: Sendable {
    private struct State: Sendable {
        var known: [MediaDevice.ID: MediaDevice] = [:]
        var isStopped = false
        var isLooking = false
        var holdsMonitor = false
        var places = ""
    }

    private let queue: DispatchQueue
    private let state = Mutex(State())
    private let changed: @Sendable (DeviceChange) -> Void

    init(on queue: DispatchQueue, _ changed: @escaping @Sendable (DeviceChange) -> Void) {
        self.queue = queue
        self.changed = changed
    }

    func start() {
        SharedDeviceMonitor.shared.add({ [weak self] in self?.lookSoon() }, of: self)
        queue.async { [self] in
            guard !state.withLock({ $0.isStopped }) else { return }
            _ = SharedDeviceMonitor.shared.hold()
            state.withLock { $0.holdsMonitor = true }
            look()
            comparePlacesLater()
        }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        SharedDeviceMonitor.shared.removeListener(of: self)
        queue.async { [self] in
            if state.withLock({ $0.holdsMonitor }) { SharedDeviceMonitor.shared.release() }
        }
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
        state.withLock { state in
            state.isLooking = false
            state.places = Self.places
        }
        let now = DeviceProbe.list()
        let (gone, come) = state.withLock { state in
            let ids = Set(now.map(\.id))
            let gone = state.known.values.filter { !ids.contains($0.id) }.sorted { $0.path < $1.path }
            let come = now.filter { state.known[$0.id] == nil }
            state.known = Dictionary(now.map { ($0.id, $0) }) { first, _ in first }
            return (gone, come)
        }
        for device in gone { changed(.removed(device)) }
        for device in come { changed(.added(device)) }
    }

    private func comparePlacesLater() {
        queue.asyncAfter(deadline: .now() + 1) { [weak self] in
            guard let self, !state.withLock({ $0.isStopped }) else { return }
            if state.withLock({ $0.places }) != Self.places { look() }
            comparePlacesLater()
        }
    }

    /// V4L2's device files, ALSA's list of streams, and the X servers' sockets.
    private static var places: String {
        let files = FileManager.default
        let cameras = (try? files.contentsOfDirectory(atPath: "/dev"))?.filter { $0.hasPrefix("video") }.sorted() ?? []
        let screens = (try? files.contentsOfDirectory(atPath: "/tmp/.X11-unix"))?.sorted() ?? []
        let sound = (try? String(contentsOfFile: "/proc/asound/pcm", encoding: .utf8)) ?? ""
        return (cameras + screens + [sound]).joined(separator: "\n")
    }
}
