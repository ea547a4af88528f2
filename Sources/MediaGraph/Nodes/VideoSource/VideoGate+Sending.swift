import CMediaGraphABI
import GStreamer

/// The sender's side of the gate. Any thread.
extension VideoGate {
    var pace: Pace { monitor.withLock(wakes: false) { $0.settings.pace } }
    var stopTimeout: ClockTime { monitor.withLock(wakes: false) { $0.settings.stopTimeout } }

    /// Sends a frame; with a queue that blocks it waits for room, within `block-timeout`.
    func send(_ frame: UnsafePointer<MGOutgoingFrame>) throws(MediaGraphError) {
        do throws(MediaGraphError) {
            let (format, timeout) = try admit(frame)
            let queued = QueuedFrame(try buffer(of: frame, format), format)
            let time = SendTimeline.Time(frame.pointee.timestamp, arrival: { runningTime })
            let offer = monitor.wait(timeout: Int64(timeout.nanoseconds / 1000)) { state -> SendOffer? in
                let offer = state.offer(queued, time, suspends: false)
                if case .full = offer { return nil }
                return offer
            }
            try settle(offer ?? .full, queued, timeout)
        } catch {
            statistics.countRefusal()
            throw error
        }
        statistics.countFrame()
    }

    /// Everything that can refuse a frame before it is looked at. Memory that was handed over goes back then.
    private func admit(_ frame: UnsafePointer<MGOutgoingFrame>) throws(MediaGraphError) -> (SentFormat, ClockTime) {
        do throws(MediaGraphError) {
            let (isOpen, format, timeout) = monitor.withLock(wakes: false) {
                ($0.queue.isOpen, $0.format, $0.settings.blockTimeout)
            }
            // Nearly every frame is like the one before.
            if isOpen, let format, format.accepts(frame) { return (format, timeout) }
            let new = try newFormat(frame.pointee)
            guard isOpen else { throw closedError }
            return (new, timeout)
        } catch {
            frame.pointee.release?(frame.pointee.release_context)
            if let buffer = frame.pointee.buffer { _ = Buffer(taking: buffer) }
            throw error
        }
    }

    private func newFormat(_ frame: MGOutgoingFrame, hasData: Bool = true) throws(MediaGraphError) -> SentFormat {
        try SentFormat(frame, declared: monitor.withLock(wakes: false) { $0.settings.declared }, hasData: hasData)
    }

    /// The buffer that was handed over; or one around memory that was, where GStreamer's layout allows it; else a copy.
    private func buffer(
        of frame: UnsafePointer<MGOutgoingFrame>, _ format: SentFormat
    ) throws(MediaGraphError) -> Buffer {
        var buffer: Buffer?
        if let own = frame.pointee.buffer {
            buffer = Buffer(taking: own)
        } else if let release = frame.pointee.release, format.isPackedByDefault {
            buffer = Buffer(
                wrapping: UnsafeMutableRawBufferPointer(
                    start: UnsafeMutableRawPointer(mutating: frame.pointee.data), count: Int(frame.pointee.length)),
                context: frame.pointee.release_context, release: release)
        } else {
            buffer = format.pool.copy(packed: frame.pointee.data)
            frame.pointee.release?(frame.pointee.release_context)
        }
        guard let made = buffer.take() else {
            throw .allocationFailed(.init("a frame", expected: "\(format.pool.info.size) bytes"))
        }
        format.describe(made.access)
        if frame.pointee.rotation != 0 { Rotation.meta.set(frame.pointee.rotation, on: made.access) }
        let flip = flip.load(ordering: .relaxed)
        if flip != 0 { Flip.meta.set(flip, on: made.access) }
        made.access.setCaptureTime(wallClockNanoseconds())
        return made
    }

    /// What an offer means to its sender. A frame that didn't get in is let go.
    private func settle(
        _ offer: SendOffer, _ frame: QueuedFrame, _ timeout: ClockTime
    ) throws(MediaGraphError) {
        switch offer {
        case .accepted: return
        case .dropped(let lost):
            lost.discard()
            statistics.countDrop()
            // A stream that has ended takes nothing: the next sender is told.
            if refusal != nil { failed() }
        case .closed:
            frame.discard()
            throw closedError
        case .tooFrequent(let rate):
            frame.discard()
            throw .tooFrequent(
                .init(
                    "sending a frame", expected: "at most \(rate) frames/s, as declared", actual: "more, by timestamp"))
        case .full:
            frame.discard()
            throw fullError(timeout)
        }
    }

    private var closedError: MediaGraphError {
        endedError
            ?? .wrongUsage(
                .init("sending a frame", expected: "a call between startSend and stopSend", actual: "one outside"))
    }

    /// Why no buffer will be taken any more, where that is so.
    private var refusal: FlowReturn? { owner.element?.staticPad("src")?.refusal }

    private var endedError: MediaGraphError? {
        refusal.map { refusal in
            .wrongUsage(
                .init(
                    "sending a frame", expected: "a graph that takes frames",
                    actual: "one that has ended: \(refusal)"))
        }
    }

    /// The queue stayed full.
    private func fullError(_ timeout: ClockTime) -> MediaGraphError {
        if let endedError { return endedError }
        return .timeOut(.init("sending a frame", expected: "room in the queue within \(timeout.seconds) s"))
    }

    // MARK: Buffers to fill

    /// A buffer from the pool for frames of this description, and the caps that say how it lies.
    func acquire(_ description: UnsafePointer<MGOutgoingFrame>) throws(MediaGraphError) -> (UnmanagedBuffer, Caps) {
        var format = monitor.withLock(wakes: false) { $0.format }
        if format?.hasFormat(of: description) != true {
            let new = try newFormat(description.pointee, hasData: false)
            monitor.withLock(wakes: false) { $0.format = new }
            format = new
        }
        guard let format, let buffer = format.pool.acquire() else {
            throw .allocationFailed(.init("a frame", expected: "a buffer of the node's pool"))
        }
        return (UnmanagedBuffer(buffer), format.caps)
    }

    // MARK: Tasks

    /// Sends a frame without ever waiting: true when it is in, false when `send` is told later by its `done`.
    func sendLater(_ frame: UnsafePointer<MGOutgoingFrame>, _ send: WaitingSend.Callback) throws(MediaGraphError)
        -> UInt64?
    {
        do throws(MediaGraphError) {
            let (format, timeout) = try admit(frame)
            let queued = QueuedFrame(try buffer(of: frame, format), format)
            let time = SendTimeline.Time(frame.pointee.timestamp, arrival: { runningTime })
            let (offer, ticket) = monitor.withLock { state -> (SendOffer, UInt64?) in
                let offer = state.waiting.isEmpty ? state.offer(queued, time, suspends: true) : .full
                guard case .full = offer, state.queue.isOpen else { return (offer, nil) }
                state.nextTicket += 1
                state.waiting.append(
                    WaitingSend(ticket: state.nextTicket, frame: queued, time: time, callback: send))
                return (offer, state.nextTicket)
            }
            if let ticket {
                expire(ticket, after: timeout)
                return ticket
            }
            try settle(offer, queued, timeout)
        } catch {
            statistics.countRefusal()
            throw error
        }
        statistics.countFrame()
        return nil
    }

    /// Gives up a send that still waits.
    func cancel(_ ticket: UInt64) {
        guard let send = monitor.withLock(wakes: false, { $0.takeWaiting(ticket) }) else { return }
        send.frame.discard()
        statistics.countRefusal()
        send.callback.call(MG_CANCELLED, nil)
    }

    private func expire(_ ticket: UInt64, after timeout: ClockTime) {
        Timer.run(after: timeout) { [self] in
            guard let send = monitor.withLock(wakes: false, { $0.takeWaiting(ticket) }) else { return }
            complete(send, fullError(timeout))
        }
    }

    /// Every task that waits is refused: the gate has closed.
    func refuse(_ waiting: [WaitingSend]) { for send in waiting { complete(send, closedError) } }

    /// Tells a task that its frame is in, or why it isn't. Never under the lock.
    func complete(_ send: WaitingSend, _ error: MediaGraphError?) {
        guard let error else {
            statistics.countFrame()
            return send.callback.call(MG_ACCEPTED, nil)
        }
        send.frame.discard()
        statistics.countRefusal()
        send.callback.call(MG_REFUSED, error)
    }

    // MARK: Time, and the end

    func wait(until time: ClockTime) -> Bool {
        while true {
            guard monitor.withLock(wakes: false, { $0.queue.isOpen }) else { return false }
            guard pace == .live, let element = owner.element, let now = element.currentRunningTime, now < time else {
                return true
            }
            alarm.wait(for: time, of: element) { !monitor.withLock(wakes: false) { $0.queue.isOpen } }
        }
    }

    /// The stream ends behind what is queued; for the sender only while sending.
    func endOfStream() { end(.endOfStream) }

    /// The same for whoever sends the element an EOS event: in any state, as with every source.
    func endOfStreamRequested() { end(.endOfStream, inAnyState: true) }

    /// Downstream takes nothing any more: senders are told, until a flush makes a new beginning.
    func failed() {
        refuse(
            monitor.withLock { state in
                state.queue.refuse()
                return state.takeWaiting()
            })
        alarm.cancel()
    }

    /// The error comes on the bus when the frames sent before it have been delivered.
    func fail(_ error: MediaGraphError) {
        if !end(.failure(error)) { owner.postError(.processing, "\(owner.name): \(error)") }
    }

    func warn(_ text: String) { owner.postWarning(.processing, "\(owner.name): \(text)") }

    @discardableResult
    private func end(_ ending: SendQueue<QueuedFrame>.Ending, inAnyState: Bool = false) -> Bool {
        let refused = monitor.withLock { state -> [WaitingSend]? in
            guard state.queue.isOpen || inAnyState else { return nil }
            state.queue.end(ending)
            return state.takeWaiting()
        }
        guard let refused else { return false }
        refuse(refused)
        alarm.cancel()
        return true
    }
}
