import CGIO
import Foundation
import Synchronization

/// A Unix socket of type SEQPACKET, which passes messages between processes of one machine. Messages arrive whole and
/// in order, and may have a file descriptor attached.
///
/// `@unchecked Sendable`: a GSocket may be used on any thread.
package final class LocalSocket: @unchecked Sendable {
    private let raw: UnsafeMutablePointer<GSocket>
    /// Set before the shutdown that ends all waits. A `GCancellable` would need a file descriptor of its own, which it
    /// makes at the first wait; if there is none, GLib ends the process.
    private let isClosed = Atomic<Bool>(false)

    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        fileprivate init(_ description: String) { self.description = description }

        fileprivate init(_ error: UnsafeMutablePointer<GError>?) {
            description = error.map { String(cString: $0.pointee.message) } ?? "unknown error"
            free(error)
        }
    }

    package enum Outcome: Sendable {
        case sent
        /// The peer doesn't read, and the socket's buffer is full.
        case full
        /// The message is longer than the socket's buffer.
        case tooLong
        /// The peer, or this side, has closed the connection.
        case closed
    }

    /// The longest path of a socket in bytes, which is the size of `sockaddr_un.sun_path` without the terminating zero.
    package static let longestPath = 107

    private init(taking raw: UnsafeMutablePointer<GSocket>) {
        self.raw = raw
        g_socket_set_blocking(raw, 0)
    }

    deinit { g_object_unref(raw) }

    private static func make() throws(Failure) -> LocalSocket {
        var error: UnsafeMutablePointer<GError>?
        guard
            let raw = g_socket_new(
                G_SOCKET_FAMILY_UNIX, G_SOCKET_TYPE_SEQPACKET, G_SOCKET_PROTOCOL_DEFAULT, &error)
        else { throw Failure(error) }
        return LocalSocket(taking: raw)
    }

    private static func address(_ path: String) -> UnsafeMutablePointer<GSocketAddress> {
        g_unix_socket_address_new(path)
    }

    /// Creates a listening socket at this path, where no file may exist.
    package static func listening(at path: String) throws(Failure) -> LocalSocket {
        let socket = try make()
        let address = address(path)
        defer { g_object_unref(address) }
        var error: UnsafeMutablePointer<GError>?
        guard g_socket_bind(socket.raw, address, 0, &error) != 0, g_socket_listen(socket.raw, &error) != 0 else {
            throw Failure(error)
        }
        return socket
    }

    /// Connects to the socket at a path. Throws at once if no process listens there.
    ///
    /// - Parameter ofAnyUser: Whether the socket may belong to another user of this machine, as a server's does. If not,
    ///   this throws then.
    package static func connected(to path: String, ofAnyUser: Bool = false) throws(Failure) -> LocalSocket {
        // GLib would cut the path, and connect to another socket.
        guard path.utf8.count <= longestPath else {
            throw Failure("the path of a socket has at most \(longestPath) bytes, and this one has \(path.utf8.count)")
        }
        let socket = try make()
        let address = address(path)
        defer { g_object_unref(address) }
        var error: UnsafeMutablePointer<GError>?
        guard g_socket_connect(socket.raw, address, nil, &error) != 0 else { throw Failure(error) }
        guard !ofAnyUser, let owner = socket.otherUser else { return socket }
        throw Failure(
            "the socket belongs to another user of this machine (uid \(owner); this process has uid \(geteuid()))")
    }

    /// The user ID of the peer if it differs from this process's, otherwise `nil`. It comes from the kernel
    /// (SO_PEERCRED), not from the peer. If the kernel doesn't provide it, the highest number.
    private var otherUser: uid_t? {
        guard let credentials = g_socket_get_credentials(raw, nil) else { return .max }
        defer { g_object_unref(UnsafeMutableRawPointer(credentials)) }
        let user = g_credentials_get_unix_user(credentials, nil)
        return user == geteuid() ? nil : user
    }

    /// Returns whether the process that created the socket at this path has ended. The check doesn't disturb a running
    /// process: it connects with another socket type, which a socket in use refuses with another error (EPROTOTYPE),
    /// whether or not it listens and has room for connections.
    ///
    /// - Parameter isStream: Whether the socket is a stream socket, as those of X and sound servers are, rather than a
    ///   `LocalSocket`.
    package static func isAbandoned(_ path: String, isStream: Bool = false) -> Bool {
        let otherType = isStream ? G_SOCKET_TYPE_SEQPACKET : G_SOCKET_TYPE_STREAM
        guard let raw = g_socket_new(G_SOCKET_FAMILY_UNIX, otherType, G_SOCKET_PROTOCOL_DEFAULT, nil) else {
            return false
        }
        let socket = LocalSocket(taking: raw)
        let address = address(path)
        defer { g_object_unref(address) }
        var error: UnsafeMutablePointer<GError>?
        defer { free(error) }
        return g_socket_connect(socket.raw, address, nil, &error) == 0
            && error.matches(G_IO_ERROR_CONNECTION_REFUSED)
    }

    package enum Accepted {
        case connected(LocalSocket)
        /// No process connected in time, or the process has no free file descriptor.
        case nobody
        /// Another user's process tried to connect, and was refused.
        case refused(uid: UInt32)
        /// This socket was closed.
        case closed
    }

    /// Waits for the next connection, for at most `timeout`.
    package func accept(timeout: Duration) -> Accepted {
        let microseconds = gint64(max(0, timeout / .microseconds(1)))
        let isThere =
            g_socket_condition_timed_wait(raw, GIOCondition(rawValue: G_IO_IN.rawValue), microseconds, nil, nil) != 0
        guard !isClosed.load(ordering: .acquiring) else { return .closed }
        guard isThere else { return .nobody }
        if let raw = g_socket_accept(self.raw, nil, nil) {
            let socket = LocalSocket(taking: raw)
            guard let user = socket.otherUser else { return .connected(socket) }
            socket.close()
            return .refused(uid: user)
        }
        // The connection is still pending, so the next call would return at once. Wait, to avoid a busy loop.
        g_usleep(100_000)
        return .nobody
    }

    /// Sends a message, without blocking. The caller keeps ownership of the descriptor.
    package func send(_ message: Data, descriptor: Int32? = nil) -> Outcome {
        message.withUnsafeBytes { bytes in
            var vector = GOutputVector(buffer: bytes.baseAddress, size: gsize(bytes.count))
            var message: UnsafeMutablePointer<GSocketControlMessage>?
            if let descriptor {
                let files = g_unix_fd_message_new()!
                message = files
                let isAttached = g_unix_fd_message_append_fd(
                    UnsafeMutableRawPointer(files).assumingMemoryBound(to: GUnixFDMessage.self), descriptor, nil)
                // This process has no free descriptor for the copy. Without it, the message would be invalid.
                guard isAttached != 0 else {
                    g_object_unref(files)
                    return .full
                }
            }
            defer { if let message { g_object_unref(message) } }
            var error: UnsafeMutablePointer<GError>?
            let count: Int32 = message == nil ? 0 : 1
            let sent = g_socket_send_message(raw, nil, &vector, 1, &message, count, Int32(MSG_NOSIGNAL), nil, &error)
            guard sent < 0 else { return .sent }
            defer { free(error) }
            return if error.matches(G_IO_ERROR_WOULD_BLOCK) {
                .full
            } else if error.matches(G_IO_ERROR_MESSAGE_TOO_LARGE) {
                .tooLong
            } else {
                .closed
            }
        }
    }

    /// Waits for the next message. The caller closes its file descriptor. `nil` if the peer or this side has closed the
    /// connection.
    package func receive() -> (message: Data, descriptor: Int32?)? {
        while waitForInput() {
            var descriptor: Int32?
            var messages: UnsafeMutablePointer<UnsafeMutablePointer<GSocketControlMessage>?>?
            var count: Int32 = 0
            var error: UnsafeMutablePointer<GError>?
            // The size of all messages that have arrived, so that the first one isn't cut.
            let size = g_socket_get_available_bytes(raw)
            guard size >= 0 else { return nil }
            let message = withUnsafeTemporaryAllocation(byteCount: max(size, 1), alignment: 1) { bytes -> Data? in
                var vector = GInputVector(buffer: bytes.baseAddress, size: gsize(bytes.count))
                let read = g_socket_receive_message(raw, nil, &vector, 1, &messages, &count, nil, nil, &error)
                guard read > 0 else { return nil }
                return Data(bytes[..<Int(read)])
            }
            for index in 0..<Int(count) {
                guard let message = messages?[index] else { continue }
                let files = UnsafeMutableRawPointer(message).assumingMemoryBound(to: GUnixFDMessage.self)
                var length: Int32 = 0
                if g_type_check_instance_is_a(
                    UnsafeMutableRawPointer(message).assumingMemoryBound(to: GTypeInstance.self),
                    g_unix_fd_message_get_type()) != 0,
                    let list = g_unix_fd_message_steal_fds(files, &length)
                {
                    for place in 0..<Int(length) {
                        // Messages have at most one descriptor. A peer that sends more could exhaust our descriptors.
                        if descriptor == nil { descriptor = list[place] } else { closeFile(list[place]) }
                    }
                    g_free(list)
                }
                g_object_unref(message)
            }
            g_free(messages)
            if let message { return (message, descriptor) }
            // An empty message may still have a descriptor.
            if let descriptor { closeFile(descriptor) }
            let isEmpty = error.matches(G_IO_ERROR_WOULD_BLOCK)
            free(error)
            guard isEmpty else { return nil }
        }
        return nil
    }

    private func waitForInput() -> Bool {
        g_socket_condition_wait(raw, GIOCondition(rawValue: G_IO_IN.rawValue), nil, nil) != 0
            && !isClosed.load(ordering: .acquiring)
    }

    /// Waits until there is room for a message, or the peer has closed the connection, which the next `send` will
    /// report. Returns false if this side has closed it.
    package func waitForRoom() -> Bool {
        g_socket_condition_wait(raw, GIOCondition(rawValue: G_IO_OUT.rawValue), nil, nil) != 0
            && !isClosed.load(ordering: .acquiring)
    }

    /// Closes the connection, and ends all waits on both sides.
    package func close() {
        isClosed.store(true, ordering: .releasing)
        g_socket_shutdown(raw, 1, 1, nil)
    }
}

/// The system's `close`, which the method of this name hides inside the class.
private func closeFile(_ descriptor: Int32) { close(descriptor) }

private func free(_ error: UnsafeMutablePointer<GError>?) { if let error { g_error_free(error) } }

extension UnsafeMutablePointer<GError>? {
    fileprivate func matches(_ code: GIOErrorEnum) -> Bool {
        g_error_matches(self, g_io_error_quark(), Int32(code.rawValue)) != 0
    }
}
