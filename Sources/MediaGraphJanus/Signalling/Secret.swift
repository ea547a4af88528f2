import Foundation
import MediaGraphCore

/// A password, a PIN or a key. Printing it, or what contains it, doesn't show it.
package struct Secret: Sendable, Hashable, Encodable {
    /// The secret itself, only for what is sent to the server.
    let value: String

    package init(_ value: String) { self.value = value }

    /// The references that a description may contain, for messages.
    static let expected = "file:PATH or env:NAME, so that the secret itself isn't visible in ps, logs and pictures"

    /// Reads the secret that a description refers to: `file:PATH`, of which a line end at the end is left out, or
    /// `env:NAME`, an environment variable.
    ///
    /// Throws `invalidParameter` for another text, which may be a secret and so isn't repeated, and if the file or the
    /// variable doesn't exist or is empty.
    ///
    /// - Parameters:
    ///   - reference: The text.
    ///   - property: The property in which it is, for messages.
    package init(
        _ reference: String, of property: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(MediaGraphError) {
        let (value, source) = try Self.read(reference, property, environment)
        guard !value.isEmpty else { throw .invalidParameter(.init(property, actual: "\(source) is empty")) }
        self.value = value
    }

    private static func read(
        _ reference: String, _ property: String, _ environment: [String: String]
    ) throws(MediaGraphError) -> (value: String, source: String) {
        if reference.hasPrefix("env:") {
            let name = String(reference.dropFirst("env:".count))
            guard let value = environment[name] else {
                throw .invalidParameter(.init(property, actual: "the environment variable \(name) isn't set"))
            }
            return (value, "the environment variable \(name)")
        }
        guard reference.hasPrefix("file:") else {
            throw .invalidParameter(.init(property, expected: expected, actual: "another text"))
        }
        let path = String(reference.dropFirst("file:".count))
        do {
            var text = try String(contentsOfFile: path, encoding: .utf8)
            if text.last?.isNewline == true { text.removeLast() }
            return (text, "the file \(path)")
        } catch {
            throw .invalidParameter(.init(property, actual: "the file \(path) can't be read"))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

extension Secret: CustomStringConvertible, CustomReflectable {
    package var description: String { "(secret)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The secrets with which a client identifies itself.
package struct JanusSecrets: Sendable, Hashable {
    /// Janus' `api_secret`, the same for all clients.
    package var apiSecret: Secret?
    /// A client's token: for the server, if it checks tokens, and for the room, if only users with a token may join it.
    package var token: Secret?
    /// The room's PIN. The first user sets it, and all others need it.
    package var roomPIN: Secret?
    /// The key that permits to create rooms, if the server restricts this.
    package var adminKey: Secret?

    package init(
        apiSecret: Secret? = nil, token: Secret? = nil, roomPIN: Secret? = nil, adminKey: Secret? = nil
    ) {
        (self.apiSecret, self.token, self.roomPIN, self.adminKey) = (apiSecret, token, roomPIN, adminKey)
    }
}
