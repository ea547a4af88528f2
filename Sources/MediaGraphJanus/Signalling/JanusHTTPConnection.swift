import DequeModule
import Foundation
import MediaGraphCore
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A connection to Janus' REST interface: each message is a POST, and events are the answers to a long poll.
///
/// The session outlives the connection, until the server's session timeout.
final class JanusHTTPConnection: JanusConnection {
    private struct State: Sendable {
        /// What waits to be sent. One message at a time is on its way, because the server handles requests that overlap
        /// in any order.
        var waiting: Deque<Data> = []
        var isSending = false
        /// The session whose events are received; `nil` before there is one, and after the server has refused to send
        /// its events.
        var session: UInt64?
        var isClosing = false
        var isLost = false

        /// Whether nothing more will be sent.
        var isDone: Bool { isLost || isClosing && !isSending && waiting.isEmpty }
    }

    let arrivals: AsyncStream<JanusArrival>
    private let arrived: AsyncStream<JanusArrival>.Continuation
    private let url: URL
    private let secrets: JanusSecrets
    private let server: JanusServer
    private let state = Mutex(State())

    /// Longer than Janus holds back an answer to a long poll, which is 30 s.
    private static let pollLimit = 45.0
    /// Longer than `JanusSession` waits, so that it decides.
    private static let sendLimit = JanusSession.answerLimit.seconds * 2
    /// How many events a long poll may return.
    private static let eventsPerPoll = 20

    /// One for all connections, whose requests are never cancelled: on Linux, to invalidate a session or cancel a request
    /// while a request starts or ends can end the process. Each connection occupies one of the host's connections for its
    /// long poll.
    private static let http = {
        // Ephemeral: neither answers nor cookies are stored.
        let configuration = URLSessionConfiguration.ephemeral
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpMaximumConnectionsPerHost = 1024
        return URLSession(configuration: configuration)
    }()

    init(_ url: URL, _ secrets: JanusSecrets, server: JanusServer) {
        (self.url, self.secrets, self.server) = (url, secrets, server)
        (arrivals, arrived) = AsyncStream.makeStream()
    }

    // MARK: Sending

    func send(_ message: Data) {
        let isIdle = state.withLock { state in
            state.waiting.append(message)
            defer { state.isSending = true }
            return !state.isSending
        }
        if isIdle { sendNext() }
    }

    private func sendNext() {
        let next = state.withLock { state -> Data? in
            let next = state.isLost ? nil : state.waiting.popFirst()
            state.isSending = next != nil
            return next
        }
        guard let next else { return finishIfDone() }
        var request = URLRequest(url: url, timeoutInterval: Self.sendLimit)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = next
        Self.http.dataTask(with: request) { [self] data, response, error in
            _ = receive(data, response, error)
            sendNext()
        }.resume()
    }

    func close() {
        // A long poll that is under way ends by itself, at the latest when Janus answers it after 30 s.
        state.withLock { ($0.isClosing, $0.session) = (true, nil) }
        finishIfDone()
    }

    private func finishIfDone() {
        if state.withLock({ $0.isDone }) { arrived.finish() }
    }

    // MARK: Receiving

    func receiveEvents(of session: UInt64) {
        let isNew = state.withLock { state in
            guard !state.isClosing, !state.isLost else { return false }
            defer { state.session = session }
            return state.session != session
        }
        if isNew { poll(session) }
    }

    private func poll(_ number: UInt64) {
        Self.http.dataTask(with: pollRequest(number)) { [self] data, response, error in
            guard state.withLock({ $0.session == number }), let messages = receive(data, response, error) else {
                return
            }
            // Such as a session that the server has forgotten. The next poll would be refused as well, and at once.
            if messages.contains(where: { $0.kind == .error }) {
                state.withLock { if $0.session == number { $0.session = nil } }
            } else {
                poll(number)
            }
        }.resume()
    }

    private func pollRequest(_ session: UInt64) -> URLRequest {
        var components = URLComponents(url: url.appendingPathComponent("\(session)"), resolvingAgainstBaseURL: false)!
        components.queryItems =
            [URLQueryItem(name: "maxev", value: "\(Self.eventsPerPoll)")]
            + [("token", secrets.token), ("apisecret", secrets.apiSecret)].compactMap { name, value in
                value.map { URLQueryItem(name: name, value: $0.value) }
            }
        // In a query, + means a space to the server, but not to URLComponents.
        components.percentEncodedQuery = components.percentEncodedQuery?.replacingOccurrences(of: "+", with: "%2B")
        return URLRequest(url: components.url!, timeoutInterval: Self.pollLimit)
    }

    /// Passes on the answer to a request. Returns the messages in it; `nil` if the connection is lost.
    private func receive(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) -> [JanusMessage]? {
        if let error {
            lose(unreachable(error))
            return nil
        }
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard status == 200 else {
            let isTemporary = (500..<600).contains(status) && status != 501
            lose(
                isTemporary
                    ? .unreachable(
                        .init(
                            "Janus server \(server)",
                            actual: "can't be reached: a proxy answers with the HTTP status \(status)"))
                    : .notJanus(server, because: "it answered with the HTTP status \(status)"))
            return nil
        }
        guard let data, let messages = try? JanusMessage.list(from: data) else {
            lose(.notJanus(server, because: "its answer isn't one of Janus' messages"))
            return nil
        }
        for message in messages { arrived.yield(.message(message)) }
        return messages
    }

    private func lose(_ error: MediaGraphError) {
        let isNew = state.withLock { state in
            defer { (state.isLost, state.session) = (true, nil) }
            return !state.isLost && !state.isClosing
        }
        if isNew { arrived.yield(.lost(error)) }
        arrived.finish()
    }

    /// The error for a request that wasn't answered. The error of Foundation contains the URL, and so the secrets in it,
    /// but its text, which comes from libcurl, doesn't.
    private func unreachable(_ error: any Error) -> MediaGraphError {
        let subject = "Janus server \(server)"
        let text = (error as NSError).userInfo[NSLocalizedDescriptionKey] as? String ?? "the connection failed"
        // A certificate that can't be verified has no code of its own.
        if text.contains("certificate") {
            return .notPermitted(
                .init(subject, actual: "has a certificate that this machine can't verify or doesn't trust (\(text))"))
        }
        return switch (error as? URLError)?.code {
        case .timedOut: .timeOut(.init(subject, actual: "didn't answer in time"))
        case .cannotFindHost, .dnsLookupFailed: unreachable("there is no host of this name")
        case .cannotConnectToHost: unreachable("nothing listens there")
        default: unreachable(text)
        }
        func unreachable(_ reason: String) -> MediaGraphError {
            .unreachable(.init(subject, actual: "can't be reached: \(reason)"))
        }
    }
}
