import Foundation
import GStreamer
import MediaGraphCore

/// A client of a Janus server: keeps a session there, and connects again when the connection is lost.
///
/// What it decides is in ``JanusSession``. All of it runs on one ``EventThread``.
package actor JanusClient {
    /// What happens to the session.
    package enum Event: Sendable {
        /// There is a session now, which has no handles.
        case began
        /// The session is over, and its handles with it. The client connects again by itself.
        case lost(MediaGraphError)
        /// There is no session, because the first attempt to connect failed. Nothing follows.
        case failed(MediaGraphError)
        /// A message about a handle, not an answer to a request.
        case message(JanusMessage)
    }

    nonisolated let server: JanusServer
    nonisolated let secrets: JanusSecrets
    private let thread: EventThread
    private let connect: @Sendable () -> any JanusConnection
    private var session: JanusSession
    private var connection: (any JanusConnection)?
    private var reader: Task<Void, Never>?
    private var timer: (deadline: UInt64, task: Task<Void, Never>)?
    /// The requests that haven't been answered.
    private var answers: [String: CheckedContinuation<Result<JanusMessage, MediaGraphError>, Never>] = [:]
    private var requestCount = 0
    private let report: AsyncStream<Event>.Continuation

    /// What happens, in order, for one reader. Ends after `failed`, and with `stop`.
    package nonisolated let events: AsyncStream<Event>

    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    static let log = DebugCategory("mediagraph-janus", "MediaGraph rooms through a Janus server")

    /// - Parameters:
    ///   - server: Where the server listens.
    ///   - secrets: What the server wants to know.
    ///   - thread: Runs the client.
    ///   - random: Returns a number in 0..<1, by which pauses between attempts to connect differ.
    package init(
        _ server: JanusServer, _ secrets: JanusSecrets = JanusSecrets(), on thread: EventThread = .network,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.init(server, secrets, on: thread, random: random) { server.connect(secrets) }
    }

    init(
        _ server: JanusServer, _ secrets: JanusSecrets, on thread: EventThread,
        random: @escaping @Sendable () -> Double,
        connect: @escaping @Sendable () -> any JanusConnection
    ) {
        (self.thread, self.server, self.secrets, self.connect) = (thread, server, secrets, connect)
        session = JanusSession(server: server, secrets: secrets, random: random)
        (events, report) = AsyncStream.makeStream()
    }

    deinit {
        connection?.close()
        timer?.task.cancel()
        report.finish()
    }

    /// Connects to the server, and reports as an event what comes of it. Call it once.
    package func start() { perform(.start) }

    /// Ends the session, and waits until the server knows that or doesn't answer, at most for 20 s. Without a connection,
    /// it doesn't wait. Requests that aren't answered fail with `notInSession`.
    package func stop() async {
        let reader = connection == nil ? nil : reader
        perform(.stop)
        await reader?.value
        report.finish()
    }

    /// Sends a request, and returns the server's answer.
    ///
    /// Throws `notInSession` while there is no session, and after `stop`; `unreachable` and `timeOut` if the connection
    /// is lost meanwhile; `tooMuchAtOnce` if the request is too long; and other errors if the server refuses it.
    package func request(_ request: JanusRequest) async throws(MediaGraphError) -> JanusMessage {
        requestCount += 1
        let transaction = "request-\(requestCount)"
        return try await withCheckedContinuation { answer in
            answers[transaction] = answer
            perform(.request(request, transaction: transaction))
        }.get()
    }

    // MARK: Actions

    private func perform(_ input: JanusSession.Input) {
        for action in session.handle(input, at: thread.clock.now) { perform(action) }
        updateTimer()
    }

    private func perform(_ action: JanusSession.Action) {
        switch action {
        case .connect: open()
        case .disconnect: close()
        case .send(let envelope): send(envelope)
        case .began(let session):
            Self.log.log(.info, nil, "\(server): session \(session) began")
            connection?.receiveEvents(of: session)
            report.yield(.began)
        case .lost(let error):
            Self.log.log(.info, nil, "\(error)")
            report.yield(.lost(error))
        case .failed(let error):
            report.yield(.failed(error))
            report.finish()
        case .answer(let transaction, let result): answers.removeValue(forKey: transaction)?.resume(returning: result)
        case .announce(let message): report.yield(.message(message))
        }
    }

    private func open() {
        let connection = connect()
        self.connection = connection
        reader = Task(executorPreference: thread) { [weak self] in
            for await arrival in connection.arrivals { await self?.received(arrival, from: connection) }
        }
    }

    private func received(_ arrival: JanusArrival, from connection: any JanusConnection) {
        // The last messages of a connection that has been given up mean nothing.
        guard connection === self.connection else { return }
        switch arrival {
        case .message(let message): perform(.received(message))
        case .lost(let error):
            close()
            perform(.disconnected(error))
        }
    }

    private func close() {
        connection?.close()
        connection = nil
    }

    private func send(_ envelope: JanusEnvelope) {
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .withoutEscapingSlashes
            try connection?.send(encoder.encode(envelope))
        } catch {
            perform(
                .refused(transaction: envelope.transaction, .wrapping(error, "a request to Janus server \(server)")))
        }
    }

    private func updateTimer() {
        let deadline = session.deadline
        guard timer?.deadline != deadline else { return }
        timer?.task.cancel()
        timer = deadline.map { deadline in
            let now = thread.clock.now
            let task = Task(executorPreference: thread) { [weak self, thread] in
                do { try await thread.sleep(for: .nanoseconds(deadline - min(now, deadline))) } catch { return }
                await self?.timePassed(deadline)
            }
            return (deadline, task)
        }
    }

    private func timePassed(_ deadline: UInt64) {
        guard timer?.deadline == deadline else { return }
        timer = nil
        perform(.tick)
    }
}
