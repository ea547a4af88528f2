import MediaGraphCore

/// The rules by which a client keeps a session with a Janus server: what to send, and what follows from what arrives.
///
/// This is a value without threads and without a clock: each call is told the time, in nanoseconds of any clock, and
/// returns what to do. ``JanusClient`` does it.
///
/// The server holds a session for as long as it hears from the client, and forgets it together with its handles
/// afterwards. Over HTTP, a session survives the loss of a connection, so it is claimed again.
struct JanusSession: Sendable {
    enum Action: Sendable {
        /// Connect to the server. A connection that can't be made is reported as lost.
        case connect
        case disconnect
        case send(JanusEnvelope)
        /// The connection carries this session from now on.
        case opened(session: UInt64)
        /// Report the session: users and PeerConnections are as they were if it is resumed, and gone otherwise.
        case began(isResumed: Bool)
        /// Report that the server can't be reached now. The session may be resumed.
        case lost(MediaGraphError)
        /// Report that the server can't be reached. Nothing follows.
        case failed(MediaGraphError)
        case answer(transaction: String, Result<JanusMessage, MediaGraphError>)
        case announce(JanusMessage)
        /// Report that nothing follows, because the session has been stopped.
        case ended
    }

    enum Input: Sendable {
        case start
        /// A message has arrived.
        case received(JanusMessage)
        /// There is no connection any more, or there never was one.
        case disconnected(MediaGraphError)
        /// Time has passed; see `deadline`.
        case tick
        /// Send a request, and answer it under this transaction.
        case request(JanusRequest, transaction: String)
        /// A request couldn't be sent, for a reason of its own.
        case refused(transaction: String, MediaGraphError)
        /// End the session.
        case stop
    }

    private enum Phase: Sendable {
        case idle
        /// Waiting for the answer to `create` or `claim`.
        case opening(transaction: String)
        case open(session: UInt64)
        /// Waiting before the next attempt to connect.
        case paused(until: UInt64)
        case ended
    }

    private struct Pending: Sendable {
        let request: JanusRequest
        let deadline: UInt64
        /// Whether the client itself sent the request.
        var isInternal = false
    }

    /// How long the server may take for an answer.
    static let answerLimit = Duration.seconds(5)
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
    /// The session that can be claimed.
    private var last: UInt64?
    /// Whether the session has been reported.
    private var hasBegun = false
    /// Whether the loss of the connection has been reported.
    private var isLost = false
    private var attempts = 0
    private var pending: [String: Pending] = [:]
    private var nextKeepAlive: UInt64 = 0
    private var requestCount = 0

    init(
        server: JanusServer, secrets: JanusSecrets,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        (self.server, self.secrets, self.random) = (server, secrets, random)
    }

    /// The session's number while there is a connection.
    var session: UInt64? { if case .open(let session) = phase { session } else { nil } }

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
        case .start: start(now)
        case .received(let message): receive(message, now)
        case .disconnected(let error): disconnect(error, now, isConnected: false)
        case .tick: tick(now)
        case .request(let request, let transaction): send(request, transaction, now)
        case .refused(let transaction, let error): refuse(transaction, error, now)
        case .stop: stop()
        }
    }

    private mutating func start(_ now: UInt64) -> [Action] {
        guard case .idle = phase else { return [] }
        return open(now)
    }

    /// Connects, and asks for a session.
    private mutating func open(_ now: UInt64) -> [Action] {
        [.connect] + ask(for: last, now)
    }

    private mutating func ask(for session: UInt64?, _ now: UInt64) -> [Action] {
        let transaction = nextTransaction()
        phase = .opening(transaction: transaction)
        let request = session == nil ? JanusRequest.create : .claim
        return [submit(request, transaction, session, now, isInternal: true)]
    }

    private mutating func nextTransaction() -> String {
        requestCount += 1
        return "session-\(requestCount)"
    }

    private mutating func submit(
        _ request: JanusRequest, _ transaction: String, _ session: UInt64?, _ now: UInt64, isInternal: Bool = false
    ) -> Action {
        pending[transaction] = Pending(
            request: request, deadline: now + Self.answerLimit.nanoseconds, isInternal: isInternal)
        return .send(JanusEnvelope(request: request, transaction: transaction, session: session, secrets: secrets))
    }

    private mutating func send(_ request: JanusRequest, _ transaction: String, _ now: UInt64) -> [Action] {
        guard case .open(let session) = phase else {
            return [.answer(transaction: transaction, .failure(.notConnected(to: server)))]
        }
        return [submit(request, transaction, session, now)]
    }

    private mutating func refuse(_ transaction: String, _ error: MediaGraphError, _ now: UInt64) -> [Action] {
        guard let request = pending.removeValue(forKey: transaction) else { return [] }
        return request.isInternal ? disconnect(error, now) : [.answer(transaction: transaction, .failure(error))]
    }

    // MARK: What arrives

    private mutating func receive(_ message: JanusMessage, _ now: UInt64) -> [Action] {
        guard let transaction = message.transaction, let request = pending[transaction] else {
            return announce(message, now)
        }
        switch message.kind {
        case .ack where !request.request.endsWithAck: return []
        case .ack, .success, .event, .claimed:
            pending[transaction] = nil
            guard request.isInternal else { return [.answer(transaction: transaction, .success(message))] }
            return internalAnswer(to: request.request, message, now)
        case .error:
            pending[transaction] = nil
            let error = MediaGraphError.refusal(message.failure, by: server)
            guard request.isInternal else { return [.answer(transaction: transaction, .failure(error))] }
            return internalFailure(of: request.request, message.failure?.code, error, now)
        default: return announce(message, now)
        }
    }

    private mutating func internalAnswer(
        to request: JanusRequest, _ message: JanusMessage, _ now: UInt64
    ) -> [Action] {
        switch request {
        case .create:
            guard let session = message.identifier else {
                return disconnect(.notJanus(server, because: "it answered without a session"), now)
            }
            return begin(session, now, isResumed: false)
        case .claim: return last.map { begin($0, now, isResumed: true) } ?? []
        default: return []
        }
    }

    private mutating func begin(_ session: UInt64, _ now: UInt64, isResumed: Bool) -> [Action] {
        phase = .open(session: session)
        (last, attempts, isLost, hasBegun) = (session, 0, false, true)
        nextKeepAlive = now + Self.keepAliveInterval.nanoseconds
        return [.opened(session: session), .began(isResumed: isResumed)]
    }

    private mutating func internalFailure(
        of request: JanusRequest, _ code: Int?, _ error: MediaGraphError, _ now: UInt64
    ) -> [Action] {
        // The server has forgotten the session, or is a new one.
        if case .claim = request, code == JanusErrorCode.noSuchSession {
            last = nil
            return ask(for: nil, now)
        }
        if case .keepAlive = request, code == JanusErrorCode.noSuchSession { return renew(error, now) }
        return disconnect(error, now)
    }

    private mutating func announce(_ message: JanusMessage, _ now: UInt64) -> [Action] {
        guard case .open(let session) = phase, message.session == nil || message.session == session else { return [] }
        switch message.kind {
        case .timeout:
            return renew(
                .timeOut(.init("Janus server \(server)", actual: "has ended the session: nothing arrived from here")),
                now)
        case .event, .detached, .trickle, .webrtcup, .media, .slowlink, .hangup: return [.announce(message)]
        // The answer to a long poll that the server refuses.
        case .error:
            let error = MediaGraphError.refusal(message.failure, by: server)
            return message.failure?.code == JanusErrorCode.noSuchSession ? renew(error, now) : disconnect(error, now)
        case .success, .ack, .keepalive, .claimed, .serverInfo, nil: return []
        }
    }

    /// Replaces a session that the server has ended. The connection is all right.
    private mutating func renew(_ error: MediaGraphError, _ now: UInt64) -> [Action] {
        last = nil
        let failed = failPending(error)
        isLost = true
        return failed + [.lost(error)] + ask(for: nil, now)
    }

    // MARK: Time and failures

    private mutating func tick(_ now: UInt64) -> [Action] {
        switch phase {
        case .idle, .ended: return []
        case .paused(let until): return now < until ? [] : open(now)
        case .opening, .open: break
        }
        // An interface that is alive answers at once, if only with `ack`. What takes longer doesn't answer at all.
        if pending.contains(where: { $0.value.deadline <= now }) {
            return disconnect(
                .timeOut(
                    .init("Janus server \(server)", actual: "didn't answer within \(Int(Self.answerLimit.seconds)) s")),
                now)
        }
        guard case .open(let session) = phase, nextKeepAlive <= now else { return [] }
        nextKeepAlive = now + Self.keepAliveInterval.nanoseconds
        return [submit(.keepAlive, nextTransaction(), session, now, isInternal: true)]
    }

    /// Gives up a connection. Connects again after a pause, unless the server has never been reached.
    private mutating func disconnect(_ error: MediaGraphError, _ now: UInt64, isConnected: Bool = true) -> [Action] {
        switch phase {
        case .idle, .paused, .ended: return []
        case .opening, .open: break
        }
        var actions = isConnected ? [Action.disconnect] : []
        actions += failPending(error)
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
        return pending.filter { !$0.value.isInternal }.keys.sorted().map {
            .answer(transaction: $0, .failure(error))
        }
    }

    private mutating func stop() -> [Action] {
        let failed = failPending(.notInSession(.init("the connection to Janus server \(server)", actual: "was closed")))
        defer { phase = .ended }
        switch phase {
        case .ended: return failed
        case .idle, .paused: return failed + [.ended]
        case .opening: return failed + [.disconnect, .ended]
        case .open(let session):
            let transaction = nextTransaction()
            return failed + [submit(.destroy, transaction, session, 0, isInternal: true), .disconnect, .ended]
        }
    }
}

/// The codes of Janus' errors (`apierror.h`) and of VideoRoom's that mean something to this client.
enum JanusErrorCode {
    static let unauthorized = 403
    static let noSuchSession = 458
    static let pluginNotFound = 460
    static let notAcceptingSessions = 472
}

extension MediaGraphError {
    static func notConnected(to server: JanusServer) -> MediaGraphError {
        .notInSession(.init("Janus server \(server)", actual: "can't be reached now"))
    }

    static func notJanus(_ server: JanusServer, because reason: String) -> MediaGraphError {
        .unsupported(
            .init(
                "\(server)",
                actual:
                    "isn't a Janus server: \(reason); check the address, which ends in Janus' base path, by default /janus"
            ))
    }

    /// The error for a request that the server has refused.
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
