import GStreamer
import MediaGraphCore
import TestSupport
import Testing

@testable import MediaGraphJanus

/// A client of a Janus server, and what it reports.
final class ClientLog: Sendable {
    let client: JanusClient
    /// The client's events as text, such as `began` and `lost …`.
    let events = Log<String>()

    init(_ server: JanusServer, _ secrets: JanusSecrets = JanusSecrets(), on thread: EventThread = .network) {
        client = JanusClient(server, secrets, on: thread, random: { 0.5 })
        Task { [client, events] in
            for await event in client.events { events.add(event.text) }
            events.add("over")
        }
    }

    /// A room of the client's server.
    func room(_ name: String = "lobby") -> VideoRoom { VideoRoom(name, client: client) }

    /// Starts the client. Returns the first event.
    func start() async throws -> String? {
        await client.start()
        guard try await eventually({ !events.all.isEmpty }) else { return nil }
        return events.all.first
    }

    /// Starts the client. Returns whether there is a session, and records another outcome as an issue.
    func begins() async throws -> Bool {
        let first = try await start()
        if first != "began" { Issue.record("\(first ?? "nothing")") }
        return first == "began"
    }

    /// Waits for an event of this text.
    func has(_ text: String) async throws -> Bool { try await eventually { events.all.contains(text) } }
}

extension JanusClient.Event {
    /// The event in a few words.
    var text: String {
        switch self {
        case .began: return "began"
        case .lost(let error): return "lost: \(error)"
        case .failed(let error): return "failed: \(error)"
        case .message(let message):
            guard let event = message.event else { return message.kind.map { "\($0)" } ?? "?" }
            if let joining = event.joining { return "joining \(joining.id) (\(joining.display ?? ""))" }
            if let leaving = event.leaving { return "leaving \(leaving)" }
            if let id = event.id, let display = event.display { return "\(id) is called \(display)" }
            return event.kind
        }
    }
}

extension VideoRoom.Publisher {
    /// The display names of the users who were there before, by their names.
    var names: [String: String] {
        Dictionary(others.map { ($0.id, $0.display ?? "") }, uniquingKeysWith: { first, _ in first })
    }
}
