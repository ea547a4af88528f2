import Foundation
import GStreamer
import LocalSockets
import Synchronization

/// Sends messages and buffers to another process. Any thread may call it, and never waits.
///
/// The socket can be full, for example because the other process was suspended for a moment. Then buffers are dropped
/// and messages are queued in order. Releases of memory are collected and sent before the queued messages. While
/// anything is queued, buffers are dropped, so that they don't take its room in the socket.
final class PeerOutbox: Sendable {
    fileprivate struct State: Sendable {
        var messages: [PeerOutbox.Message] = []
        /// The total size of the queued messages, in bytes.
        var size = 0
        var releases: [UInt64] = []
        /// Whether a thread is waiting for room in the socket.
        var isFlushing = false
        var isClosed = false

        var isWaiting: Bool { !messages.isEmpty || !releases.isEmpty }
    }

    fileprivate struct Message: Sendable {
        let data: Data
        /// Replaces a queued message with the same topic; `nil` if it replaces none.
        let topic: String?
    }

    /// The size of queued messages, in bytes, above which the connection is closed. It is enough for some thousands of
    /// messages, far more than changes of users and streams cause while a process is suspended for a moment.
    static let limit = 1 << 20

    /// The size of queued messages, in bytes, above which commands are refused. Applications can send any number of them,
    /// and that must not close the connection.
    static let commandLimit = limit / 4

    private let socket: LocalSocket
    private let state = Mutex(State())

    init(_ socket: LocalSocket) { self.socket = socket }

    /// Sends a message, or queues it, in place of one with the same topic. If too much is queued, closes the connection.
    func send(_ message: Data, topic: String? = nil) {
        post { state in
            state.send(message, topic, to: socket)
            if state.size > Self.limit { state.close(socket) }
        }
    }

    /// What has become of a command.
    enum Outcome: Sendable {
        case sent
        /// The command isn't sent, because the other process hasn't read earlier messages.
        case full
        /// The connection has ended.
        case closed
    }

    /// Sends a message as `send` does, unless other messages wait for the other process to read.
    func sendUnlessFull(_ message: Data) -> Outcome {
        var outcome = Outcome.closed
        post { state in
            guard state.size + message.count <= Self.commandLimit else { return outcome = .full }
            state.send(message, nil, to: socket)
            if !state.isClosed { outcome = .sent }
        }
        return outcome
    }

    /// Tells the other process that one of its memories is no longer in use here. The number of queued releases is
    /// bounded by the number of buffers that the other process has sent.
    func release(_ memory: UInt64) {
        post { state in
            if !state.isWaiting, !state.isRefused(by: socket, BufferMessage.release(memories: [memory]).bytes) {
                return
            }
            state.releases.append(memory)
        }
    }

    /// Sends a buffer. Returns false if it can't be sent at once and is therefore dropped. Doesn't take ownership of
    /// `descriptor`.
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

    /// Sends what is queued, until nothing is left. Runs on its own thread.
    private func flush() {
        while socket.waitForRoom() {
            if state.withLock({ $0.flush(to: socket) }) { return }
        }
        state.withLock { $0.close(socket) }
    }
}

extension PeerOutbox.State {
    /// Sends a message, or queues it behind others or if the socket is full.
    fileprivate mutating func send(_ message: Data, _ topic: String?, to socket: LocalSocket) {
        if !isWaiting, !isRefused(by: socket, message) { return }
        if let topic, let index = messages.firstIndex(where: { $0.topic == topic }) {
            size -= messages.remove(at: index).data.count
        }
        messages.append(PeerOutbox.Message(data: message, topic: topic))
        size += message.count
    }

    /// Sends a message. Returns true if the socket is full, so that the message has to wait.
    fileprivate mutating func isRefused(by socket: LocalSocket, _ message: Data) -> Bool {
        switch socket.send(message) {
        case .sent: return false
        case .full: return true
        case .tooLong:
            RoomLink.log.log(.warning, nil, "a message of \(message.count) bytes is too long: closing the connection")
            close(socket)
            return false
        case .closed:
            close(socket)
            return false
        }
    }

    /// Sends what is queued, as far as there is room. Returns true if nothing is left.
    fileprivate mutating func flush(to socket: LocalSocket) -> Bool {
        while !releases.isEmpty {
            let next = releases.prefix(BufferMessage.mostReleases)
            guard !isRefused(by: socket, BufferMessage.release(memories: Array(next)).bytes) else { return false }
            // `min`, because `isRefused` empties the queue if the connection has been closed.
            releases.removeFirst(min(next.count, releases.count))
        }
        var sent = 0
        while sent < messages.count, !isRefused(by: socket, messages[sent].data) { sent += 1 }
        sent = min(sent, messages.count)
        size -= messages[..<sent].reduce(0) { $0 + $1.data.count }
        messages.removeFirst(sent)
        isFlushing = isWaiting
        return !isWaiting
    }

    fileprivate mutating func close(_ socket: LocalSocket) {
        socket.close()
        (messages, size, releases, isFlushing, isClosed) = ([], 0, [], false, true)
    }
}
