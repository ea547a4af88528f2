import Foundation
import TestSupport

@testable import MediaGraphJanus

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A program that manages a Janus server's rooms over HTTP.
struct JanusOperator {
    private let plugin: URL

    /// Connects to a server.
    init(_ server: JanusServer) async throws {
        guard case .http(let url) = server else { throw Refused(description: "not an HTTP server") }
        func identifier(_ url: URL, _ request: [String: String]) async throws -> String {
            let answer = try await Self.post(url, request)
            guard let number = (answer["data"] as? [String: Any])?["id"] as? NSNumber else {
                throw Refused(description: "\(answer)")
            }
            return number.stringValue
        }
        let session = url.appending(path: try await identifier(url, ["janus": "create"]))
        plugin = session.appending(
            path: try await identifier(session, ["janus": "attach", "plugin": "janus.plugin.videoroom"]))
    }

    struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    /// Sends a request to the plugin VideoRoom. Returns its answer's error; `nil` if there is none, or if the answer to the
    /// request is an event that comes later.
    func request(_ name: String, _ fields: [String: Any] = [:]) async throws -> String? {
        let body = fields.merging(["request": name]) { $1 }
        let answer = try await Self.post(plugin, ["janus": "message", "body": body])
        guard answer["janus"] as? String != "ack" else { return nil }
        let data = (answer["plugindata"] as? [String: Any])?["data"] as? [String: Any]
        return data?["error"] as? String ?? (data == nil ? "\(answer)" : nil)
    }

    private static func post(_ url: URL, _ fields: [String: Any]) async throws -> [String: Any] {
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = try JSONSerialization.data(withJSONObject: fields.merging(["transaction": "1"]) { $1 })
        let (data, _) = try await URLSession.shared.data(for: request)
        return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }
}
