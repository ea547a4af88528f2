import Foundation
import GStreamer
import LocalSockets
import Synchronization
import TestSupport

@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Another process of a room, whose every word the test chooses. It was there before whoever joins afterwards, and so is
/// connected to.
final class OtherProcess: Sendable {
    private let directory: RoomDirectory
    private let place: RoomDirectory.Place
    private let socket = Mutex<LocalSocket?>(nil)
    private let read = Log<StreamKey>()
    private let memory: SharedMemory
    private let hasSentFile = Atomic<Bool>(false)

    init(room: String) throws {
        directory = RoomDirectory(room: room)
        place = try directory.enter()
        memory = SharedMemory(size: 1 << 20)!
    }

    func leave() {
        socket.withLock { $0 }?.close()
        place.socket.close()
        directory.leave(place.endpoint)
    }

    /// Waits for the connection, and says who is here.
    func greet(_ users: [String]) async throws -> Bool {
        var found: LocalSocket?
        let isConnected = try await eventually {
            if case .connected(let socket) = place.socket.accept(timeout: 0) { found = socket }
            return found != nil
        }
        guard isConnected, let connected = found else { return false }
        socket.withLock { $0 = connected }
        NativeThread("other-process") { [read] in
            while let (bytes, descriptor) = connected.receive() {
                if let descriptor { close(descriptor) }
                if case .read(let key, _) = PeerMessage(bytes) { read.add(key) }
            }
        }.detach()
        say(.hello(version: PeerMessage.version, users: users))
        return true
    }

    func isRead(_ key: StreamKey) async throws -> Bool { try await eventually { read.all.contains(key) } }

    func say(_ message: PeerMessage) { say(message.bytes) }

    /// Waits for room, so that everything is heard.
    func say(_ bytes: Data, descriptor: Int32? = nil) {
        guard let socket = socket.withLock({ $0 }) else { return }
        while socket.send(bytes, descriptor: descriptor) == .full { _ = socket.waitForRoom() }
    }

    /// A buffer of so many bytes, whose time is now, or what `edit` makes of that.
    func send(_ key: StreamKey, length: Int, _ edit: (inout SharedBuffer) -> Void = { _ in }) {
        var shared = SharedBuffer(
            memory: 1, capacity: memory.size, length: length, moment: monotonicNanoseconds(), decodingMoment: nil,
            duration: nil, layout: nil, rotation: 0, flip: 0, captureTime: nil, flags: 0)
        edit(&shared)
        let isFirst = !hasSentFile.exchange(true, ordering: .relaxed)
        say(BufferMessage.buffer(key, shared).bytes, descriptor: isFirst ? memory.descriptor : nil)
    }

    /// A stream as it should be, up to its first buffer.
    func begin(_ key: StreamKey, _ caps: String) {
        say(.begin(key))
        if let caps = Caps(caps).flatMap(SharedCaps.init) { say(.caps(key, caps)) }
        say(.latency(key, 0))
        say(.status(key, true))
    }
}
