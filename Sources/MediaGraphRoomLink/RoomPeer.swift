import Foundation
import GStreamer
import LocalSockets
import MediaGraphSession
import Synchronization

/// The connection to another process in a room: that process's users, and the streams that either side reads of the
/// other.
///
/// One thread receives messages. An invalid message ends the connection, and so does a peer that doesn't read its
/// messages for a long time. The peer's users have then left, until this process finds the peer again. It doesn't look
/// again for a peer that runs another version.
final class RoomPeer: Sendable {
    private struct State: Sendable {
        var users: Set<String> = []
        var memories: [UInt64: SharedMemory] = [:]
        /// The number of buffers of each stream that are still in use in this process.
        var held: [StreamKey: Int] = [:]
        /// The state of each of the peer's streams that is read here.
        var streams: [StreamKey: ReceivedStream] = [:]
        var layouts = LayoutCheck()
    }

    /// Limits that no real process reaches, so that a faulty peer can't fill this process's memory.
    private static let mostUsers = 10_000
    private static let mostMemories = 4096

    /// The number of buffers of one stream that may be in use by reference: two that wait at a reader of raw video, and
    /// the one that is shown. Encoded buffers are small, so that copying more of them costs little.
    static let heldByReference = 3

    private let socket: LocalSocket
    private let outbox: PeerOutbox
    /// The endpoint at which this process found the peer; `nil` if the peer found this process.
    let endpoint: Int?
    private let room: RoomLink
    private let state = Mutex(State())

    init(_ socket: LocalSocket, endpoint: Int? = nil, room: RoomLink) {
        self.socket = socket
        outbox = PeerOutbox(socket)
        self.endpoint = endpoint
        self.room = room
    }

    /// Starts the thread that receives messages.
    func start() { NativeThread("room-peer") { [self] in run() }.detach() }

    /// Closes the connection, which also ends the thread.
    func close() { socket.close() }

    /// Sends a message. It is never lost: if the socket is full, it is queued.
    func send(_ message: PeerMessage) {
        // Only the newest profile of a user matters, and an application may change it at any rate.
        if case .profile(let user, _) = message { return outbox.send(message.bytes, topic: user) }
        outbox.send(message.bytes)
    }

    /// Sends a command, unless the peer doesn't read.
    func send(_ command: SharedCommand, from user: String, to recipient: String?) -> PeerOutbox.Outcome {
        outbox.sendUnlessFull(PeerMessage.command(command, from: user, to: recipient).bytes)
    }

    /// Sends a buffer. Returns false if the buffer can't be sent at once and is therefore lost to this peer.
    func send(_ bytes: Data, descriptor: Int32?) -> Bool { outbox.offer(bytes, descriptor: descriptor) }

    private func run() {
        // A peer whose first message isn't this version's greeting runs another version. After a later error, a new
        // connection may work.
        var (isGreeted, isUnderstood) = (false, true)
        while isUnderstood, let (bytes, descriptor) = socket.receive() {
            let file = descriptor.map(ReceivedFile.init)
            if let message = BufferMessage(bytes) {
                isUnderstood = isGreeted && handle(message, file)
            } else if let message = PeerMessage(bytes) {
                isGreeted = isGreeted || message.isGreeting
                isUnderstood = isGreeted
                if isUnderstood { isUnderstood = handle(message) }
            } else {
                isUnderstood = false
            }
        }
        socket.close()
        let isStranger = !isUnderstood && !isGreeted
        if !isUnderstood {
            let reason = isStranger ? "it may run another version of MediaGraph" : "reconnecting"
            RoomLink.log.log(.warning, nil, "invalid message from another process in the room: \(reason)")
        }
        let users = state.withLock { state in
            state.memories.removeAll()
            return state.users
        }
        for user in users.sorted() { room.left(user, with: self) }
        room.remove(self, isStranger: isStranger)
    }

    /// Handles a message. Returns false if it is invalid.
    private func handle(_ message: PeerMessage) -> Bool {
        switch message {
        case .hello: break
        case .joined(let user, let profile): return join(user, profile)
        case .left(let user):
            if state.withLock({ $0.users.remove(user) }) != nil { room.left(user, with: self) }
        case .profile(let user, let profile):
            guard profile.violatedRequirement == nil else { return false }
            if state.withLock({ $0.users.contains(user) }) { room.profileChanged(of: user, to: profile, with: self) }
        case .command(let command, let user, let recipient):
            if state.withLock({ $0.users.contains(user) }) {
                room.received(command.command, from: user, to: recipient, with: self)
            }
        case .stream(let key, .speaking) where key.kind != .microphone: return false
        case .stream(let key, let change): room.streamChanged(key, change, with: self)
        case .read(let key, let resolution): room.forward(key, resolution, to: self)
        case .unread(let key): room.stopForwarding(key, to: self)
        case .keyFrame(let key): room.keyFrameRequested(key)
        case .forget(let memories):
            state.withLock { state in for memory in memories { state.memories[memory] = nil } }
        case .begin(let key):
            guard let stream = stream(key) else { break }
            state.withLock { $0.streams[key] = ReceivedStream() }
            stream.begin()
        case .caps(let key, let caps):
            guard let stream = stream(key) else { break }
            let problem = state.withLock { $0.streams[key, default: ReceivedStream()].setCaps(caps.caps) }
            if let problem { stream.refuse(problem) } else { stream.setCaps(caps.caps) }
        case .latency(let key, let time):
            guard let stream = stream(key) else { break }
            let problem = state.withLock { $0.streams[key, default: ReceivedStream()].setLatency(time) }
            if let problem {
                stream.refuse(problem)
            } else {
                stream.setTiming(.machine(latency: .nanoseconds(time)))
            }
        case .status(let key, let isOn): _ = stream(key)?.setStatus(isOn)
        case .alpha(let key, let isOn): _ = stream(key)?.setAlpha(isOn)
        }
        return true
    }

    /// Handles a buffer, or the release of buffers. Returns false if the message is invalid.
    private func handle(_ message: BufferMessage, _ file: ReceivedFile?) -> Bool {
        switch message {
        case .release(let memories): room.release(memories, by: self)
        case .buffer(let key, let shared): return show(shared, of: key, file)
        }
        return true
    }

    /// The stream of one of the peer's users; `nil` if it isn't read here any more, since messages may still be on
    /// their way.
    private func stream(_ key: StreamKey) -> RoomStream? {
        state.withLock { $0.users.contains(key.user) } ? room.remoteStream(key, of: self) : nil
    }

    /// Adds a user. Returns false for an invalid name or profile, and if the peer has too many users.
    private func join(_ user: String, _ profile: UserProfile) -> Bool {
        guard SessionName.requirement(violatedBy: user) == nil, profile.violatedRequirement == nil else { return false }
        let (isNew, isTooMany) = state.withLock { state in
            (state.users.insert(user).inserted, state.users.count > Self.mostUsers)
        }
        guard !isTooMany else { return false }
        if isNew { room.joined(user, profile, with: self) }
        return true
    }

    /// Passes a buffer to the stream. Returns false if the message is invalid.
    ///
    /// The buffer is passed by reference until `heldByReference` of them are in use, and copied after that. So the
    /// sender always has memory for the next one, even if a reader keeps buffers, as an element that writes files does.
    private func show(_ shared: SharedBuffer, of key: StreamKey, _ file: ReceivedFile?) -> Bool {
        if let file {
            guard let memory = SharedMemory(taking: file.take(), size: shared.capacity) else { return false }
            let isTooMany = state.withLock { state in
                state.memories[shared.memory] = memory
                return state.memories.count > Self.mostMemories
            }
            guard !isTooMany else { return false }
        }
        guard let memory = state.withLock({ $0.memories[shared.memory] }) else { return false }
        if let layout = shared.layout, !state.withLock({ $0.layouts.fits(layout, in: shared.length) }) { return false }
        let buffer = memory.buffer(count: shared.length) { [weak self] in
            guard let self else { return }
            state.withLock { state in
                let held = state.held[key, default: 1] - 1
                state.held[key] = held > 0 ? held : nil
            }
            outbox.release(shared.memory)
        }
        guard let buffer else { return false }
        let held = state.withLock { state in
            state.held[key, default: 0] += 1
            return state.held[key, default: 0]
        }
        guard let stream = stream(key) else { return true }
        let now = room.timestampClock.now
        switch state.withLock({ $0.streams[key, default: ReceivedStream()].check(shared, now: now) }) {
        case .passes: shared.describe(buffer.access)
        case .refused:
            stream.countLoss()
            return true
        case .invalid(let problem):
            stream.countLoss()
            stream.refuseBuffer(problem)
            return true
        }
        if held <= Self.heldByReference {
            stream.send(buffer.access)
        } else {
            let copy = buffer.access.deepCopy
            stream.send(copy.access)
        }
        return true
    }
}

/// A file descriptor that arrived with a message. It is closed unless `take` is called.
private final class ReceivedFile: Sendable {
    private let descriptor: Mutex<Int32?>
    init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }
    deinit { if let descriptor = descriptor.withLock({ $0 }) { _ = SharedMemory(taking: descriptor, size: 0) } }
    func take() -> Int32 { descriptor.withLock { $0.take() } ?? -1 }
}
