import MediaGraphCore

/// The rules by which a client keeps a session with a Janus server: what to send, and what follows from what arrives.
///
/// This is a value without threads and without a clock: each call is told the time, in nanoseconds of any clock, and
/// returns what to do. ``JanusClient`` does it.
///
/// The server keeps a session as long as it hears from the client; then it forgets the session and its handles. After a
/// lost connection, the client begins a new session and ends the old one, which may have survived if the connection was
/// HTTP. It doesn't claim the old one: Janus drops the events that were on their way, so users could come or go
/// unnoticed.
struct JanusSession: Sendable {
    enum Action: Sendable {
        /// Connect to the server. A connection that can't be made is reported as lost.
        case connect
        /// Close the connection, once everything is sent.
        case disconnect
        case send(JanusEnvelope)
        /// Report a new session, which has no handles.
        case began(session: UInt64)
        /// Report that the session is over, or that there is still none. The client connects again.
        case lost(MediaGraphError)
        /// Report that the server can't be reached. Nothing follows.
        case failed(MediaGraphError)
        case answer(transaction: String, Result<JanusMessage, MediaGraphError>)
        case announce(JanusMessage)
    }

    enum Input: Sendable {
        case start
        /// A message has arrived.
        case received(JanusMessage)
        /// The connection is lost, or couldn't be made.
        case disconnected(MediaGraphError)
        /// Time has passed; see `deadline`.
        case tick
        /// Send a request, and answer it under this transaction.
        case request(JanusRequest, transaction: String)
        /// A message couldn't be sent, for a reason of its own.
        case refused(transaction: String, MediaGraphError)
        /// End the session.
        case stop
    }

    private enum Phase: Sendable {
        case idle
        /// Waiting for a session.
        case opening
        case open(session: UInt64)
        /// Waiting before the next attempt to connect.
        case paused(until: UInt64)
        case ended
    }

    private struct Pending: Sendable {
        let content: JanusEnvelope.Content
        var deadline: UInt64
        /// Whether the server has the request. Only this request fails if no answer follows.
        var isAcknowledged = false
    }

    /// How long the server may take for the first answer to a message.
    static let answerLimit = Duration.seconds(5)
    /// How long the plugin may take for its answer, after the server has acknowledged a request.
    static let pluginLimit = Duration.seconds(15)
    /// How often the client says that it is there. Janus forgets clients after 60 s, unless it is set otherwise.
    static let keepAliveInterval = Duration.seconds(4)
    /// The pause before the first new attempt to connect. It doubles from one attempt to the next.
    static let firstPause = Duration.milliseconds(250)
    static let longestPause = Duration.seconds(8)

    private let server: JanusServer
    private let secrets: JanusSecrets
    /// Returns a number in 0..<1, by which pauses differ: the clients of a server that has restarted mustn't all come
    /// back in the same moment.
    private let random: @Sendable () -> Double
    private var phase = Phase.idle
    /// A session that the server may still have, and that has to be ended.
    private var abandoned: UInt64?
    /// Whether a session has been reported.
    private var hasBegun = false
    /// Whether the loss of the session has been reported.
    private var isLost = false
    /// The number of attempts to connect since the server last answered a keep-alive.
    private var attempts = 0
    private var pending: [String: Pending] = [:]
    private var nextKeepAlive: UInt64 = 0
    private var messageCount = 0

    init(
        server: JanusServer, secrets: JanusSecrets,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        (self.server, self.secrets, self.random) = (server, secrets, random)
    }

    /// When `tick` is due next; `nil` if nothing depends on the time.
    var deadline: UInt64? {
        let first = pending.values.lazy.map(\.deadline).min()
        return switch phase {
        case .idle, .ended: nil
        case .paused(let until): until
        case .opening: first
        case .open: min(first ?? .max, nextKeepAlive)
        }
    }

    /// Returns what to do, in order.
    mutating func handle(_ input: Input, at now: UInt64) -> [Action] {
        switch input {
        case .start:
            guard case .idle = phase else { return [] }
            return open(now)
        case .received(let message): return receive(message, now)
        case .disconnected(let error): return disconnect(error, now, isConnected: false)
        case .tick: return tick(now)
        case .request(let request, let transaction):
            guard case .open(let session) = phase else {
                return [.answer(transaction: transaction, .failure(.notConnected(to: server)))]
            }
            return [submit(.request(request), transaction, session, now)]
        case .refused(let transaction, let error): return refuse(transaction, error, now)
        case .stop: return stop()
        }
    }

    // MARK: Sending

    /// Connects, and asks for a session.
    private mutating func open(_ now: UInt64) -> [Action] { [.connect] + create(now) }

    private mutating func create(_ now: UInt64) -> [Action] {
        phase = .opening
        // The server answers with an error if it has forgotten the session.
        let end = abandoned.map { Action.send(envelope(.destroy, nextTransaction(), $0)) }
        return (end.map { [$0] } ?? []) + [submit(.create, nextTransaction(), nil, now)]
    }

    private mutating func nextTransaction() -> String {
        messageCount += 1
        return "session-\(messageCount)"
    }

    private func envelope(_ content: JanusEnvelope.Content, _ transaction: String, _ session: UInt64?) -> JanusEnvelope
    {
        JanusEnvelope(content: content, transaction: transaction, session: session, secrets: secrets)
    }

    private mutating func submit(
        _ content: JanusEnvelope.Content, _ transaction: String, _ session: UInt64?, _ now: UInt64
    ) -> Action {
        pending[transaction] = Pending(content: content, deadline: now + Self.answerLimit.nanoseconds)
        return .send(envelope(content, transaction, session))
    }

    private mutating func refuse(_ transaction: String, _ error: MediaGraphError, _ now: UInt64) -> [Action] {
        guard let message = pending.removeValue(forKey: transaction) else { return [] }
        guard case .request = message.content else { return disconnect(error, now) }
        return [.answer(transaction: transaction, .failure(error))]
    }

    // MARK: What arrives

    private mutating func receive(_ message: JanusMessage, _ now: UInt64) -> [Action] {
        guard let transaction = message.transaction, let waiting = pending[transaction] else {
            return announce(message, now)
        }
        switch message.kind {
        case .ack where !waiting.content.endsWithAck:
            pending[transaction]?.isAcknowledged = true
            pending[transaction]?.deadline = now + Self.pluginLimit.nanoseconds
            return []
        case .ack, .success, .event:
            pending[transaction] = nil
            switch waiting.content {
            case .request: return [.answer(transaction: transaction, .success(message))]
            case .create: return begin(message, now)
            // The connection is good for more than its first message.
            case .keepAlive: attempts = 0
            case .destroy: break
            }
            return []
        case .error:
            pending[transaction] = nil
            let error = MediaGraphError.refusal(message.failure, by: server)
            let answer: [Action]
            if case .request = waiting.content {
                answer = [.answer(transaction: transaction, .failure(error))]
                guard message.failure?.code == JanusErrorCode.noSuchSession else { return answer }
            } else {
                answer = []
            }
            return answer + end(because: error, message.failure?.code, now)
        default: return announce(message, now)
        }
    }

    private mutating func begin(_ message: JanusMessage, _ now: UInt64) -> [Action] {
        guard let session = message.identifier else {
            return disconnect(.notJanus(server, because: "it answered without a session"), now)
        }
        phase = .open(session: session)
        (abandoned, isLost, hasBegun) = (session, false, true)
        nextKeepAlive = now + Self.keepAliveInterval.nanoseconds
        return [.began(session: session)]
    }

    private mutating func announce(_ message: JanusMessage, _ now: UInt64) -> [Action] {
        guard case .open(let session) = phase, message.session == nil || message.session == session else { return [] }
        switch message.kind {
        case .timeout:
            let error = MediaGraphError.timeOut(
                .init("Janus server \(server)", actual: "has ended the session: nothing arrived from here"))
            return end(because: error, JanusErrorCode.noSuchSession, now)
        // The answer to a long poll that the server refuses.
        case .error: return end(because: .refusal(message.failure, by: server), message.failure?.code, now)
        case .event, .detached, .trickle, .webrtcup, .media, .slowlink, .hangup: return [.announce(message)]
        case .success, .ack, .keepalive, .serverInfo, nil: return []
        }
    }

    /// Ends the session after the server has refused a message that belongs to it. If the server has no such session, the
    /// connection is all right, and a new session can begin at once.
    private mutating func end(because error: MediaGraphError, _ code: Int?, _ now: UInt64) -> [Action] {
        guard case .open = phase, code == JanusErrorCode.noSuchSession else { return disconnect(error, now) }
        abandoned = nil
        let failed = failPending(error)
        isLost = true
        return failed + [.lost(error)] + create(now)
    }

    // MARK: Time and failures

    private mutating func tick(_ now: UInt64) -> [Action] {
        switch phase {
        case .idle, .ended: return []
        case .paused(let until): return now < until ? [] : open(now)
        case .opening, .open: break
        }
        let late = pending.filter { $0.value.deadline <= now }
        guard late.values.allSatisfy(\.isAcknowledged) else {
            return disconnect(.noAnswer(from: server, within: Self.answerLimit), now)
        }
        for transaction in late.keys { pending[transaction] = nil }
        let failed = late.keys.sorted().map { transaction in
            Action.answer(
                transaction: transaction, .failure(.noAnswer(from: server, within: Self.pluginLimit)))
        }
        guard case .open(let session) = phase, nextKeepAlive <= now else { return failed }
        nextKeepAlive = now + Self.keepAliveInterval.nanoseconds
        return failed + [submit(.keepAlive, nextTransaction(), session, now)]
    }

    /// Gives up a connection. Connects again after a pause, unless the server has never been reached.
    private mutating func disconnect(_ error: MediaGraphError, _ now: UInt64, isConnected: Bool = true) -> [Action] {
        switch phase {
        case .idle, .paused, .ended: return []
        case .opening, .open: break
        }
        var actions = (isConnected ? [Action.disconnect] : []) + failPending(error)
        guard hasBegun else {
            phase = .ended
            return actions + [.failed(error)]
        }
        phase = .paused(until: now + pause.nanoseconds)
        attempts += 1
        if !isLost { actions.append(.lost(error)) }
        isLost = true
        return actions
    }

    /// The pause before the next attempt, which differs by up to a quarter.
    private var pause: Duration {
        let doubled = Self.firstPause * (1 << min(attempts, 10))
        return min(doubled, Self.longestPause) * (0.75 + random() / 2)
    }

    private mutating func failPending(_ error: MediaGraphError) -> [Action] {
        defer { pending = [:] }
        return pending.keys.sorted().compactMap { transaction in
            guard case .request = pending[transaction]?.content else { return nil }
            return .answer(transaction: transaction, .failure(error))
        }
    }

    private mutating func stop() -> [Action] {
        let failed = failPending(
            .notInSession(.init("the connection to Janus server \(server)", actual: "was closed")))
        defer { phase = .ended }
        switch phase {
        case .idle, .paused, .ended: return failed
        case .opening: return failed + [.disconnect]
        case .open(let session): return failed + [.send(envelope(.destroy, nextTransaction(), session)), .disconnect]
        }
    }
}

/// The codes of Janus' errors (`apierror.h`) that mean something to this client.
enum JanusErrorCode {
    static let unauthorized = 403
    static let noSuchSession = 458
    static let pluginNotFound = 460
    static let notAcceptingSessions = 472
}

extension MediaGraphError {
    static func notConnected(to server: JanusServer) -> MediaGraphError {
        .notInSession(.init("Janus server \(server)", actual: "isn't connected"))
    }

    static func notJanus(_ server: JanusServer, because reason: String) -> MediaGraphError {
        .unsupported(
            .init(
                "\(server)",
                actual:
                    "isn't a Janus server: \(reason); check the address, which ends in Janus' base path, by default "
                    + "/janus"))
    }

    static func noAnswer(from server: JanusServer, within limit: Duration) -> MediaGraphError {
        .timeOut(.init("Janus server \(server)", actual: "didn't answer within \(Int(limit.seconds)) s"))
    }

    /// The error for a message that the server has refused.
    static func refusal(_ failure: JanusMessage.Failure?, by server: JanusServer) -> MediaGraphError {
        let reason = failure?.reason ?? "no reason given"
        let subject = "Janus server \(server)"
        return switch failure?.code {
        case JanusErrorCode.unauthorized:
            .notPermitted(
                .init(
                    subject, actual: "doesn't permit this program to connect (\(reason)); set its token or api-secret"))
        case JanusErrorCode.pluginNotFound:
            .unsupported(
                .init(subject, actual: "has no VideoRoom (\(reason)); enable the plugin janus.plugin.videoroom there"))
        case JanusErrorCode.notAcceptingSessions:
            .tooMuchAtOnce(.init(subject, actual: "isn't accepting new sessions at the moment"))
        default: .processingFailed(.init(subject, actual: "refused a request: \(reason)"))
        }
    }
}
