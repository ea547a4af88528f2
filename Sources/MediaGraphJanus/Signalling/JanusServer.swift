import Foundation
import LocalSockets
import MediaGraphCore

/// Where a Janus server listens.
package enum JanusServer: Sendable, Hashable, CustomStringConvertible {
    /// Janus' REST interface, over HTTP or HTTPS. The URL contains Janus' base path, by default `/janus`.
    case http(URL)
    /// The path of Janus' Unix socket, of the type SEQPACKET, on this machine.
    case socket(path: String)

    /// What a description may contain, for messages.
    static let expected =
        "a URL of a Janus server, such as http://192.168.1.2:8088/janus, https://example.com/janus or unix:/run/janus.sock"

    /// Reads a server from the text of a description.
    ///
    /// Throws `invalidParameter` for anything else than a URL with the scheme `http`, `https` or `unix`.
    package init(_ text: String) throws(MediaGraphError) {
        // First, because a text that is refused is repeated.
        guard text.hasPrefix("unix:") || !text.contains(where: "@?#".contains) else {
            throw .invalidParameter(
                .init(
                    "server",
                    actual:
                        "must not contain a user, a query or a fragment; set secrets with token, room-pin or admin-key")
            )
        }
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst("unix:".count))
            // unix:///run/janus.sock names the same file as unix:/run/janus.sock.
            let file = path.hasPrefix("//") ? String(path.dropFirst(2)) : path
            guard file.hasPrefix("/") else { throw Self.refused(text) }
            guard file.utf8.count <= LocalSocket.longestPath else {
                throw .invalidParameter(
                    .init(
                        "server", expected: "a socket's path of up to \(LocalSocket.longestPath) bytes",
                        actual: "one of \(file.utf8.count)"))
            }
            self = .socket(path: file)
            return
        }
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
            url.host?.isEmpty == false
        else { throw Self.refused(text) }
        self = .http(url)
    }

    private static func refused(_ text: String) -> MediaGraphError {
        .invalidParameter(.init("server", expected: expected, actual: "\"\(text)\""))
    }

    /// The server as a description names it. Contains no secrets.
    package var description: String {
        switch self {
        case .http(let url): url.absoluteString
        case .socket(let path): "unix:\(path)"
        }
    }
}
