import Foundation
import GStreamer
import LocalSockets
import Synchronization
import TestSupport

@testable import MediaGraphRoomLink
@testable import MediaGraphSession

/// Another process of a room, whose messages the test chooses. It enters the room first, so that later processes
/// connect to it.
final class OtherProcess: Sendable {
    private let directory: RoomDirectory
    private let entry: RoomDirectory.Entry
    private let socket = Mutex<LocalSocket?>(nil)
    private let read = Log<StreamKey>()
    private let memory: SharedMemory
    private let hasSentFile = Atomic<Bool>(false)

    init(room: String) throws {
        directory = RoomDirectory(room: room)
        entry = try directory.enter()
        memory = SharedMemory(size: 1 << 20)!
    }

    func leave() {
        socket.withLock { $0 }?.close()
        entry.socket.close()
        directory.leave(entry.endpoint)
    }

    /// Waits for the connection, and announces the users. Returns `false` if there is none.
    func greet(_ users: [String]) async throws -> Bool {
        var found: LocalSocket?
        let isConnected = try await eventually {
            if case .connected(let socket) = entry.socket.accept(timeout: .zero) { found = socket }
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
        send(.hello(version: PeerMessage.version))
        for user in users { send(.joined(user, UserProfile())) }
        return true
    }

    /// Whether the connected process reads the stream, after a while.
    func isRead(_ key: StreamKey) async throws -> Bool { try await eventually { read.all.contains(key) } }

    func send(_ message: PeerMessage) { send(message.bytes) }

    /// Waits until the socket has room, so that no message is lost.
    func send(_ bytes: Data, descriptor: Int32? = nil) {
        guard let socket = socket.withLock({ $0 }) else { return }
        while socket.send(bytes, descriptor: descriptor) == .full { _ = socket.waitForRoom() }
    }

    /// Sends a buffer of `length` bytes with the current time, changed by `edit`.
    func send(_ key: StreamKey, length: Int, _ edit: (inout SharedBuffer) -> Void = { _ in }) {
        var shared = SharedBuffer(
            memory: 1, capacity: memory.size, length: length, moment: monotonicNanoseconds(), decodingMoment: nil,
            duration: nil, layout: nil, rotation: 0, flip: 0, captureTime: nil, flags: 0)
        edit(&shared)
        let isFirst = !hasSentFile.exchange(true, ordering: .relaxed)
        send(BufferMessage.buffer(key, shared).bytes, descriptor: isFirst ? memory.descriptor : nil)
    }

    /// Sends the valid beginning of a stream, up to its first buffer.
    func begin(_ key: StreamKey, _ caps: String) {
        send(.begin(key))
        if let caps = Caps(caps).flatMap(SharedCaps.init) { send(.caps(key, caps)) }
        send(.latency(key, 0))
        send(.status(key, true))
    }
}
