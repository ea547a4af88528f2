import GStreamer
import MediaGraphCore

/// Calls to the device, with time limits.
extension DeviceSourceElement {
    /// The time limit for the next call to the device.
    var callTimeout: Duration {
        let (keeper, openingEnd) = deviceState.withLock { ($0.thread, $0.openingEnd) }
        // During the start of a graph that can run without the device, the limit is shorter than on the keeper's
        // thread.
        guard policy != .never, keeper?.isCurrent != true else {
            return max(.nanoseconds(settings.current.stallTimeout), DeviceSettings.minimumTimeout)
        }
        guard let openingEnd else { return DeviceSettings.startTimeout }
        let left = openingEnd - min(openingEnd, timerClock.now)
        // Rounded up to tenths of a second, because the error states it.
        return max(.milliseconds((left + 99_999_999) / 100_000_000 * 100), DeviceSettings.minimumCallTimeout)
    }

    /// Runs a step of a chain. If it fails, throws the error that the device's elements have posted, which says more
    /// than the step's own error.
    func ask<Answer: Sendable>(
        _ chain: DeviceChain, _ step: @escaping @Sendable () throws(MediaGraphError) -> Answer
    ) throws(MediaGraphError) -> Answer {
        let isFirst = deviceState.withLock { deviceState in
            defer { deviceState.isTrying = true }
            return !deviceState.isTrying
        }
        defer { if isFirst { deviceState.withLock { $0.isTrying = false } } }
        do throws(MediaGraphError) {
            return try ask(chain.label, within: callTimeout, isOpening: true, step, late: { chain.close() })
        } catch {
            throw deviceState.withLock { $0.loss } ?? error
        }
    }

    /// Runs `question` as a `DeviceCall`, and returns its answer. Throws `deviceGone` if the device doesn't answer in
    /// time.
    ///
    /// - Parameters:
    ///   - label: The device's display name, for errors.
    ///   - isOpening: Whether the call opens the device, and isn't made if the device is no longer wanted.
    ///   - late: Called when the answer arrives after the time limit, to clean up.
    func ask<Answer: Sendable>(
        _ label: String, within time: Duration, isOpening: Bool = false,
        _ question: @escaping @Sendable () throws(MediaGraphError) -> Answer, late: @escaping @Sendable () -> Void = {}
    ) throws(MediaGraphError) -> Answer {
        func hang() -> MediaGraphError {
            if let loss = deviceState.withLock({ $0.serverLoss }) { return loss }
            // A call that was abandoned because the device isn't wanted had less time than the limit.
            let actual =
                deviceState.withLock { $0.isUnwanted }
                ? "didn't answer before it was stopped"
                : "didn't answer within \(DeviceSettings.text(time)); it may be hanging"
            return .deviceGone(.init(label, actual: actual))
        }
        guard !isOpening || !deviceState.withLock({ $0.isUnwanted }) else { throw hang() }
        let call = DeviceCall {
            Result { () throws(MediaGraphError) in try question() }
        } late: { [deviceState] _ in
            late()
            deviceState.withLock { ($0.unanswered, $0.nextTry) = ($0.unanswered - 1, 0) }
        }
        deviceState.withLock { deviceState in
            deviceState.call = call
            // `abandon` may have been called before it could see this call.
            if isOpening, deviceState.isUnwanted { call.abandon() }
        }
        let answer = call.answer(within: time, on: timerClock)
        deviceState.withLock { deviceState in
            deviceState.call = nil
            if answer == nil { (deviceState.isLeft, deviceState.unanswered) = (true, deviceState.unanswered + 1) }
        }
        guard let answer else { throw hang() }
        return try answer.get()
    }

    /// Changes the state of a chain. The device counts as lost if that fails.
    func go(_ chain: DeviceChain, to state: State) {
        let time = state == .playing ? callTimeout : DeviceSettings.closeTimeout
        demand(of: chain, within: time) { () throws(MediaGraphError) in
            if !chain.go(to: state) { throw .deviceGone(.init(chain.label, actual: "can't be started")) }
        }
    }

    /// Runs a step of a running device. The device counts as lost if the step fails or doesn't return in time.
    private func demand(
        of chain: DeviceChain, within time: Duration,
        _ step: @escaping @Sendable () throws(MediaGraphError) -> Void
    ) {
        do throws(MediaGraphError) {
            try ask(chain.label, within: time, step, late: { chain.close() })
        } catch {
            deviceState.withLock { if $0.loss == nil { $0.lose(error) } }
        }
    }

    /// Ends the stream, and stops attempts to reconnect. The keeper tells the producer to end the stream, once. The
    /// base class would tell each element that is added or removed meanwhile, and could block the thread that changes
    /// the graph's state. This way, devices that hang don't wait for each other either.
    func endStream() {
        deviceState.withLock { deviceState in
            if deviceState.ending == .none { deviceState.ending = .asked }
            // A return of the device is no longer of interest.
            if deviceState.standIn != nil { deviceState.abandon() }
        }
    }

    /// Waits while downstream is taking a buffer. A muxer may hold the buffer until another device's stream has ended.
    /// If the next buffer is already being pushed, downstream isn't blocked: it is a sink that waits for each buffer's
    /// time.
    ///
    /// Returns false if the graph pauses or stops meanwhile.
    private func waitForDownstream() -> Bool {
        let deadline = timerClock.time(after: DeviceSettings.closeTimeout * 2)
        let frames = statistics.frames.load(ordering: .relaxed)
        while pad?.peer?.isReceiving == true,
            deviceState.withLock(wakes: false, { $0.node == .playing && !$0.isUnwanted && !$0.isStopping })
        {
            guard timerClock.now < deadline, statistics.frames.load(ordering: .relaxed) == frames else { break }
            sleepBriefly()
        }
        return deviceState.withLock(wakes: false) { $0.node == .playing && !$0.isStopping }
    }

    /// Tells the producer to end the stream. If the device doesn't answer, it counts as lost, and its stand-in or the
    /// error ends the stream.
    func tell(end producer: DeviceState.Producer) {
        switch producer {
        case .standIn(let element): element.sendEndOfStream()
        case .device(let chain):
            guard waitForDownstream() else {
                // The device is told when the graph plays again; until then, a paused sink keeps the buffer.
                return deviceState.withLock { if $0.ending == .told { $0.ending = .asked } }
            }
            demand(of: chain, within: DeviceSettings.closeTimeout) { chain.element.sendEndOfStream() }
            deviceState.withLock { $0.allowEnding(from: timerClock.now) }
        }
    }
}
