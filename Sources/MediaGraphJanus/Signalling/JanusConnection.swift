import Foundation
import MediaGraphCore

/// A connection to a Janus server, over which messages go both ways, in order.
///
/// Its methods don't block, and may be called on any thread.
package protocol JanusConnection: AnyObject, Sendable {
    /// What arrives, for one reader. Ends when the connection does.
    var arrivals: AsyncStream<JanusArrival> { get }

    /// Sends a message (JSON). A failure of the connection arrives as `lost`.
    ///
    /// Throws `tooMuchAtOnce` if the server wouldn't read a message of this length.
    func send(_ message: Data) throws(MediaGraphError)
    /// Receives this session's events from now on.
    func receiveEvents(of session: UInt64)
    /// Closes the connection once everything has been sent.
    func close()
}

/// What arrives on a connection.
package enum JanusArrival: Sendable {
    case message(JanusMessage)
    /// The connection is lost, or couldn't be made. Nothing follows.
    case lost(MediaGraphError)
}

extension JanusServer {
    /// Connects to the server. A connection that can't be made is reported as lost.
    func connect(_ secrets: JanusSecrets) -> any JanusConnection {
        switch self {
        case .http(let url): JanusHTTPConnection(url, secrets, server: self)
        case .socket(let path): JanusSocketConnection(path, server: self)
        }
    }
}

extension JanusMessage {
    /// Reads a message or, as an answer to a long poll, a list of them.
    static func list(from json: Data) throws -> [JanusMessage] {
        let isList = json.first { !" \n\r\t".utf8.contains($0) } == UInt8(ascii: "[")
        return isList
            ? try JSONDecoder().decode([JanusMessage].self, from: json)
            : [try JSONDecoder().decode(JanusMessage.self, from: json)]
    }
}
