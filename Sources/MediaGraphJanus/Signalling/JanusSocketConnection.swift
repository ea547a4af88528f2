import Foundation
import GStreamer
import LocalSockets
import MediaGraphCore

/// A connection to Janus' Unix socket. The server ends the session when the connection ends.
final class JanusSocketConnection: JanusConnection {
    /// Janus ignores longer messages: its buffer has 8192 bytes.
    static let longestMessage = 8191

    let arrivals: AsyncStream<JanusArrival>
    private let socket: LocalSocket?
    private let arrived: AsyncStream<JanusArrival>.Continuation
    private let server: JanusServer

    init(_ path: String, server: JanusServer) {
        (arrivals, arrived) = AsyncStream.makeStream()
        self.server = server
        do throws(LocalSocket.Failure) {
            socket = try .connected(to: path, ofAnyUser: true)
        } catch {
            socket = nil
            lose("can't be reached: \(error)")
            return
        }
        NativeThread("janus-socket") { [self] in receive() }.detach()
    }

    private func lose(_ reason: String) {
        arrived.yield(.lost(.unreachable(.init("Janus server \(server)", actual: reason))))
        arrived.finish()
    }

    private func receive() {
        while let json = socket?.receive()?.message {
            guard let messages = try? JanusMessage.list(from: json) else {
                arrived.yield(.lost(.notJanus(server, because: "it sends something else than Janus' messages")))
                socket?.close()
                break
            }
            for message in messages { arrived.yield(.message(message)) }
        }
        lose("closed the connection")
    }

    func send(_ message: Data) throws(MediaGraphError) {
        guard message.count <= Self.longestMessage else { throw tooLong(message) }
        switch socket?.send(message) {
        case .sent, .closed, nil: return
        case .full:
            socket?.close()
            lose("doesn't read what is sent")
        case .tooLong: throw tooLong(message)
        }
    }

    private func tooLong(_ message: Data) -> MediaGraphError {
        .tooMuchAtOnce(
            .init(
                "Janus server \(server)",
                actual: "accepts messages of up to \(Self.longestMessage) bytes on its Unix socket, and this one has "
                    + "\(message.count); connect to its HTTP interface instead"))
    }

    func receiveEvents(of session: UInt64) {}

    func close() { socket?.close() }
}
