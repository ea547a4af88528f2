import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// The sender's side of the gate. Every function may be called on any thread.
extension SendGate {
    /// Sends a payload. If the queue is full and its policy is to block, waits for room, at most `block-timeout`.
    ///
    /// With `interrupted` there is no time limit: the gate calls `interrupted` at each `wake` and stops waiting once
    /// `interrupted` returns true.
    func send(
        _ outgoing: UnsafePointer<Payload.Outgoing>, interrupted: (() -> Bool)? = nil
    ) throws(MediaGraphError) {
        // A sender that was already waiting when sending stopped made no mistake, so its payload isn't counted as
        // refused.
        var wasClosedWhileWaiting = false
        do throws(MediaGraphError) {
            let (format, timeout) = try admit(outgoing)
            let payload = try (consume format).payload(outgoing, marks)
            let time = SendTime(outgoing.pointee.timestamp, arrival: { runningTime })
            var hasWaited = false
            let offer = wait(upToNanoseconds: interrupted == nil ? timeout : nil) { state -> Queue.Offer? in
                let offer = padHasEnded ? .closed : state.queue.offer(payload, time, suspends: false)
                if case .full = offer, state.queue.blocksSenders {
                    hasWaited = true
                    return interrupted?() == true ? offer : nil
                }
                if case .closed = offer { wasClosedWhileWaiting = hasWaited }
                return offer
            }
            if case .accepted? = offer {} else { try settle(offer ?? .full, payload, timeout) }
        } catch {
            if !wasClosedWhileWaiting { statistics.countRefusal() }
            throw error
        }
        statistics.countFrame()
        wakeStream()
    }

    /// Validates a payload before its data is used, and returns its format and the sender's `block-timeout`. Returns
    /// the payload's memory to its owner if this throws.
    private func admit(
        _ outgoing: UnsafePointer<Payload.Outgoing>
    ) throws(MediaGraphError) -> (Payload.Format, timeoutNanoseconds: UInt64?) {
        do throws(MediaGraphError) {
            let (isOpen, format, timeout) = monitor.withLock(wakes: false) {
                ($0.queue.isOpen, $0.queue.format, $0.settings.blockTimeoutNanoseconds)
            }
            // Nearly every payload has the previous one's format.
            if isOpen, !padHasEnded, let format, format.accepts(outgoing) { return (format, timeout) }
            let new = try Payload.Format(outgoing.pointee, rules)
            guard isOpen, !padHasEnded else { throw closedError }
            return (new, timeout)
        } catch {
            outgoing.pointee.releaseMedia()
            throw error
        }
    }

    var rules: Payload.Rules { monitor.withLock(wakes: false) { $0.settings.rules } }

    /// Discards a payload that the queue didn't take, and throws the error for its sender.
    private func settle(
        _ offer: Queue.Offer, _ payload: Payload, _ timeoutNanoseconds: UInt64?
    ) throws(MediaGraphError) {
        switch offer {
        case .accepted: return
        case .dropped(let lost):
            lost.discard()
            statistics.countDrop()
        case .closed:
            payload.discard()
            throw closedError
        case .tooFrequent:
            let limit = payload.format.rateLimit
            payload.discard()
            throw Self.tooFrequent(limit)
        case .full:
            payload.discard()
            throw fullError(timeoutNanoseconds)
        }
    }

    private static func tooFrequent(_ limit: String) -> MediaGraphError {
        .tooFrequent(
            .init(
                Payload.actionName,
                actual: "timestamps follow each other too closely; the source declared \(limit)"))
    }

    private var closedError: MediaGraphError {
        endedError
            ?? .wrongUsage(
                .init(
                    Payload.actionName,
                    actual: "is only possible between startSend and stopSend, or this source's corresponding callbacks")
            )
    }

    private var endedError: MediaGraphError? {
        refusal.map { refusal in
            .wrongUsage(
                .init(Payload.actionName, actual: "the stream has ended (\(refusal))"))
        }
    }

    /// Returns the error for a payload that found no room, at once or within the timeout.
    private func fullError(_ timeoutNanoseconds: UInt64?) -> MediaGraphError {
        if let endedError { return endedError }
        guard monitor.withLock(wakes: false, { $0.queue.blocksSenders }) else {
            return .tooFrequent(.init(Payload.actionName, actual: "the queue is full; send more slowly"))
        }
        let within = timeoutNanoseconds.map { " for \(Double($0) / 1e9) s (block-timeout)" } ?? ""
        return .timeOut(.init(Payload.actionName, actual: "the queue stayed full\(within)"))
    }

    // MARK: Tasks

    /// Sends a payload without blocking the thread. Returns `nil` if the queue accepted the payload; otherwise returns
    /// a ticket, and `callback` reports the result later.
    func sendLater(
        _ outgoing: UnsafePointer<Payload.Outgoing>, _ callback: SendCallback
    ) throws(MediaGraphError) -> UInt64? {
        do throws(MediaGraphError) {
            let (format, timeout) = try admit(outgoing)
            let payload = try (consume format).payload(outgoing, marks)
            let time = SendTime(outgoing.pointee.timestamp, arrival: { runningTime })
            let (offer, ticket, isFirst) = monitor.withLock { state -> (Queue.Offer, UInt64?, isFirst: Bool) in
                let offer =
                    padHasEnded
                    ? .closed : state.waiting.isEmpty ? state.queue.offer(payload, time, suspends: true) : .full
                guard case .full = offer, state.queue.isOpen, state.queue.blocksSenders else {
                    return (offer, nil, false)
                }
                state.nextTicket += 1
                state.waiting.append(
                    WaitingSend(ticket: state.nextTicket, payload: payload, time: time, callback: callback))
                defer { state.isWatched = true }
                return (offer, state.nextTicket, isFirst: !state.isWatched)
            }
            if let ticket {
                if let timeout { expire(ticket, afterNanoseconds: timeout) }
                if isFirst { watchForEnd() }
                return ticket
            }
            try settle(offer, payload, timeout)
        } catch {
            statistics.countRefusal()
            throw error
        }
        statistics.countFrame()
        wakeStream()
        return nil
    }

    /// Cancels a send that still waits for room.
    func cancelSend(_ ticket: UInt64) {
        guard let send = monitor.withLock(wakes: false, { $0.takeWaiting(ticket) }) else { return }
        send.payload.discard()
        statistics.countRefusal()
        send.callback.call(MG_CANCELLED, nil)
    }

    private func expire(_ ticket: UInt64, afterNanoseconds timeout: UInt64) {
        Timer.run(after: .nanoseconds(timeout)) { [self] in
            guard let send = monitor.withLock(wakes: false, { $0.takeWaiting(ticket) }) else { return }
            complete(send, fullError(timeout))
        }
    }

    /// Polls for the end of the stream while tasks wait, and then refuses their sends.
    private func watchForEnd() {
        Timer.run(after: .nanoseconds(Self.pollIntervalNanoseconds)) { [self] in
            // One critical section, so that a flush can't come in between: after a flush the tasks may go on waiting.
            let (refused, isStillWatched) = monitor.withLock(wakes: false) { state -> ([WaitingSend<Payload>], Bool) in
                let refused = padHasEnded ? state.takeWaiting() : []
                state.isWatched = !state.waiting.isEmpty
                return (refused, state.isWatched)
            }
            refuse(refused)
            if isStillWatched { watchForEnd() }
        }
    }

    /// Refuses the sends of tasks that waited when the gate closed.
    func refuse(_ waiting: [WaitingSend<Payload>], counts: Bool = true) {
        for send in waiting { complete(send, closedError, counts: counts) }
    }

    /// Reports the result to tasks whose payloads no longer wait. Never call it under the lock.
    func notifySettled() {
        let settled = monitor.withLock(wakes: false) { state in
            defer { state.settled = [] }
            return state.settled
        }
        for send in settled {
            complete(send.waiting, send.isTooFrequent ? Self.tooFrequent(send.waiting.payload.format.rateLimit) : nil)
        }
    }

    /// Reports to a task that its payload was accepted, or why it wasn't. Never call it under the lock.
    private func complete(_ send: WaitingSend<Payload>, _ error: MediaGraphError?, counts: Bool = true) {
        guard let error else {
            statistics.countFrame()
            return send.callback.call(MG_ACCEPTED, nil)
        }
        send.payload.discard()
        if counts { statistics.countRefusal() }
        send.callback.call(MG_REFUSED, error)
    }

    // MARK: The end

    /// Ends the stream because the application sent the element an EOS event. As in every source, this works in any
    /// state.
    func endOfStreamRequested() { end(.endOfStream, inAnyState: true) }

    /// Called when downstream refused the caps: the gate refuses payloads until a flush or a new stream.
    func failed() {
        refuse(
            monitor.withLock { state in
                state.queue.refuse()
                return state.takeWaiting()
            })
        alarm.cancel()
    }

    /// Ends the stream after the queued payloads. Returns false, and does nothing, if the gate is closed, unless
    /// `inAnyState` is true.
    @discardableResult
    func end(_ ending: Queue.Ending, inAnyState: Bool = false) -> Bool {
        let refused = monitor.withLock { state -> [WaitingSend<Payload>]? in
            guard inAnyState || state.queue.isOpen && !padHasEnded else { return nil }
            state.queue.end(ending)
            return state.takeWaiting()
        }
        guard let refused else { return false }
        refuse(refused)
        alarm.cancel()
        return true
    }
}
