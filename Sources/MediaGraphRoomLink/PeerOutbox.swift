import Foundation
import GStreamer
import LocalSockets
import Synchronization

/// What goes to another process, from any thread, none of which ever waits.
///
/// When the socket is full, which a hiccup of the other side is enough for, buffers are lost, and all else waits for room: in
/// order, but for what is released, which goes first and together. While anything waits no buffer takes the room from it.
final class PeerOutbox: Sendable {
    fileprivate struct State: Sendable {
        var messages: [Data] = []
        /// Of the messages, in bytes.
        var size = 0
        var releases: [UInt64] = []
        /// Whether there is a thread that waits for room.
        var isFlushing = false
        var isClosed = false

        var isWaiting: Bool { !messages.isEmpty || !releases.isEmpty }
    }

    /// In bytes: who leaves so much unread is given up. Some thousands of messages, far more than a room's users and streams
    /// change by while a process is stopped for a moment.
    static let limit = 1 << 20

    private let socket: LocalSocket
    private let state = Mutex(State())

    init(_ socket: LocalSocket) { self.socket = socket }

    /// What the other side must hear: sooner or later, or the connection ends.
    func send(_ message: Data) {
        post { state in
            if !state.isWaiting, !state.isRefused(by: socket, message) { return }
            state.messages.append(message)
            state.size += message.count
            if state.size > Self.limit { state.close(socket) }
        }
    }

    /// The other side's memory isn't looked at any more. Bounded by what it has shown.
    func release(_ memory: UInt64) {
        post { state in
            if !state.isWaiting, !state.isRefused(by: socket, BufferMessage.release(memories: [memory]).bytes) {
                return
            }
            state.releases.append(memory)
        }
    }

    /// False for a buffer that can't be sent at once, and never will be. The descriptor stays the caller's.
    func offer(_ buffer: Data, descriptor: Int32?) -> Bool {
        state.withLock { state in
            !state.isClosed && !state.isWaiting && socket.send(buffer, descriptor: descriptor) == .sent
        }
    }

    private func post(_ body: (inout State) -> Void) {
        let isNew = state.withLock { state in
            if !state.isClosed { body(&state) }
            guard state.isWaiting, !state.isFlushing else { return false }
            state.isFlushing = true
            return true
        }
        if isNew { NativeThread("room-outbox") { [self] in flush() }.detach() }
    }

    /// Until nothing waits.
    private func flush() {
        while socket.waitForRoom() {
            if state.withLock({ $0.flush(to: socket) }) { return }
        }
        state.withLock { $0.close(socket) }
    }
}

extension PeerOutbox.State {
    /// Whether a message has to wait.
    fileprivate mutating func isRefused(by socket: LocalSocket, _ message: Data) -> Bool {
        switch socket.send(message) {
        case .sent: return false
        case .full: return true
        case .closed:
            close(socket)
            return false
        }
    }

    /// True when nothing waits any more.
    fileprivate mutating func flush(to socket: LocalSocket) -> Bool {
        while !releases.isEmpty {
            let next = releases.prefix(BufferMessage.mostReleases)
            guard !isRefused(by: socket, BufferMessage.release(memories: Array(next)).bytes) else { return false }
            // There is none left where it has closed.
            releases.removeFirst(min(next.count, releases.count))
        }
        var sent = 0
        while sent < messages.count, !isRefused(by: socket, messages[sent]) { sent += 1 }
        sent = min(sent, messages.count)
        size -= messages[..<sent].reduce(0) { $0 + $1.count }
        messages.removeFirst(sent)
        isFlushing = isWaiting
        return !isWaiting
    }

    fileprivate mutating func close(_ socket: LocalSocket) {
        socket.close()
        (messages, size, releases, isFlushing, isClosed) = ([], 0, [], false, true)
    }
}
