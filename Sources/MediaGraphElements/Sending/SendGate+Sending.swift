import CMediaGraphABI
import GStreamer
import MediaGraphCore

/// The sender's side of the gate. Any thread.
extension SendGate {
    /// Sends a payload; with a queue that blocks it waits for room, within `block-timeout`, or where there is `interrupted`, which
    /// is asked at each `wake`, for as long as it takes.
    func send(
        _ outgoing: UnsafePointer<Payload.Outgoing>, interrupted: (() -> Bool)? = nil
    ) throws(MediaGraphError) {
        // Who is waiting for room when sending is stopped has done nothing wrong.
        var isOverWhileWaiting = false
        do throws(MediaGraphError) {
            let (format, timeout) = try admit(outgoing)
            let payload = try (consume format).payload(outgoing, marks)
            let time = SendTime(outgoing.pointee.timestamp, arrival: { runningTime })
            var hasWaited = false
            let offer = wait(upTo: interrupted == nil ? timeout : nil) { state -> Queue.Offer? in
                let offer = padHasEnded ? .closed : state.queue.offer(payload, time, suspends: false)
                if case .full = offer, state.queue.waits {
                    hasWaited = true
                    return interrupted?() == true ? offer : nil
                }
                if case .closed = offer { isOverWhileWaiting = hasWaited }
                return offer
            }
            if case .accepted? = offer {} else { try settle(offer ?? .full, payload, timeout) }
        } catch {
            if !isOverWhileWaiting { statistics.countRefusal() }
            throw error
        }
        statistics.countFrame()
        wakeStream()
    }

    /// Everything that can refuse a payload before it is looked at. Memory that was handed over goes back then.
    private func admit(
        _ outgoing: UnsafePointer<Payload.Outgoing>
    ) throws(MediaGraphError) -> (Payload.Format, ClockTime?) {
        do throws(MediaGraphError) {
            let (isOpen, format, timeout) = monitor.withLock(wakes: false) {
                ($0.queue.isOpen, $0.queue.format, $0.settings.blockTimeout)
            }
            // Nearly every one is like the one before.
            if isOpen, !padHasEnded, let format, format.accepts(outgoing) { return (format, timeout) }
            let new = try Payload.Format(outgoing.pointee, rules)
            guard isOpen, !padHasEnded else { throw closedError }
            return (new, timeout)
        } catch {
            outgoing.pointee.giveBack()
            throw error
        }
    }

    var rules: Payload.Rules { monitor.withLock(wakes: false) { $0.settings.rules } }

    /// What an offer means to its sender. A payload that didn't get in is let go.
    private func settle(
        _ offer: Queue.Offer, _ payload: Payload, _ timeout: ClockTime?
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
            let pace = payload.format.pace
            payload.discard()
            throw Self.tooFrequent(pace)
        case .full:
            payload.discard()
            throw fullError(timeout)
        }
    }

    private static func tooFrequent(_ pace: String) -> MediaGraphError {
        .tooFrequent(.init(Payload.act, actual: "the timestamps exceed the rate, \(pace)"))
    }

    private var closedError: MediaGraphError {
        endedError
            ?? .wrongUsage(.init(Payload.act, actual: "only possible between startSend and stopSend"))
    }

    private var endedError: MediaGraphError? {
        refusal.map { refusal in
            .wrongUsage(
                .init(Payload.act, actual: "the stream has ended (\(refusal))"))
        }
    }

    /// The queue is full, or stayed so.
    private func fullError(_ timeout: ClockTime?) -> MediaGraphError {
        if let endedError { return endedError }
        guard monitor.withLock(wakes: false, { $0.queue.waits }) else {
            return .tooFrequent(.init(Payload.act, actual: "the queue is full; send more slowly"))
        }
        let within = timeout.map { " for \($0.seconds) s (block-timeout)" } ?? ""
        return .timeOut(.init(Payload.act, actual: "the queue stayed full\(within)"))
    }

    // MARK: Tasks

    /// Sends a payload without ever waiting: `nil` when it is in, else a ticket; `callback` reports the result later.
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
                guard case .full = offer, state.queue.isOpen, state.queue.waits else { return (offer, nil, false) }
                state.nextTicket += 1
                state.waiting.append(
                    WaitingSend(ticket: state.nextTicket, payload: payload, time: time, callback: callback))
                defer { state.isWatched = true }
                return (offer, state.nextTicket, isFirst: !state.isWatched)
            }
            if let ticket {
                if let timeout { expire(ticket, after: timeout) }
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

    /// Gives up a send that still waits.
    func giveUp(_ ticket: UInt64) {
        guard let send = monitor.withLock(wakes: false, { $0.takeWaiting(ticket) }) else { return }
        send.payload.discard()
        statistics.countRefusal()
        send.callback.call(MG_CANCELLED, nil)
    }

    private func expire(_ ticket: UInt64, after timeout: ClockTime) {
        Timer.run(after: timeout) { [self] in
            guard let send = monitor.withLock(wakes: false, { $0.takeWaiting(ticket) }) else { return }
            complete(send, fullError(timeout))
        }
    }

    /// Refuses the tasks that wait once the stream has ended; stops when none waits.
    private func watchForEnd() {
        Timer.run(after: Self.pollInterval) { [self] in
            // In one step with a flush, behind which they may wait on.
            let (refused, goesOn) = monitor.withLock(wakes: false) { state -> ([WaitingSend<Payload>], Bool) in
                let refused = padHasEnded ? state.takeWaiting() : []
                state.isWatched = !state.waiting.isEmpty
                return (refused, state.isWatched)
            }
            refuse(refused)
            if goesOn { watchForEnd() }
        }
    }

    /// Every task that waits is refused: the gate has closed.
    func refuse(_ waiting: [WaitingSend<Payload>], counts: Bool = true) {
        for send in waiting { complete(send, closedError, counts: counts) }
    }

    /// Tells tasks what became of their payloads, now that there was room.
    func tellSettled() {
        let settled = monitor.withLock(wakes: false) { state in
            defer { state.settled = [] }
            return state.settled
        }
        for send in settled {
            complete(send.waiting, send.isTooFrequent ? Self.tooFrequent(send.waiting.payload.format.pace) : nil)
        }
    }

    /// Tells a task that its payload is in, or why it isn't. Never under the lock.
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

    /// For whoever sends the element an EOS event: in any state, as with every source.
    func endOfStreamRequested() { end(.endOfStream, inAnyState: true) }

    /// Downstream refused the caps: senders are refused until a flush or a new stream.
    func failed() {
        refuse(
            monitor.withLock { state in
                state.queue.refuse()
                return state.takeWaiting()
            })
        alarm.cancel()
    }

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
