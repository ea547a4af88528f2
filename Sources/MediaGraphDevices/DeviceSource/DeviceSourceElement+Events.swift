import GStreamer
import MediaGraphCore

/// What a `devicesource` hears of its device, and says of it.
extension DeviceSourceElement {
    func tellFormat(_ chain: DeviceChain) {
        // Open, it has told its name too.
        position.withLock { $0.label = chain.label }
        guard !chain.format.isEmpty else { return }
        Self.log.log(.info, element, "\(chain.label): \(chain.format)")
        post(DeviceMessage.format(chain.label, chain.format))
    }

    /// On the device's streaming thread.
    func flowed(_ event: DeviceFlow.Event) {
        switch event {
        case .arrived: position.withLock { $0.hasArrived = true }
        case .ended:
            // Elements whose device has gone end their stream, too.
            let chain = position.withLock { position in
                guard position.loss == nil || position.ending == .told else { return position.chain }
                position.isOver = true
                return nil
            }
            chain?.flow.cut()
        case .resumed: if position.withLock({ $0.chain })?.isFromSoundServer == true { deviceMoved() }
        case .began(let caps, let time, let latency):
            if position.withLock({ $0.chain })?.isFromSoundServer == true { deviceMoved() }
            let (label, lostAt) = position.withLock { position in
                position.latency = latency
                defer { position.lostAt = nil }
                return (position.label, position.lostAt)
            }
            Self.log.log(.info, element, "\(label) gives \(caps.map { "\($0)" } ?? "something")")
            guard let lostAt else { return }
            let backAt = time ?? element.currentRunningTime ?? lostAt
            absences.add(ClockTime(nanoseconds: backAt.nanoseconds - min(backAt.nanoseconds, lostAt.nanoseconds)))
            post(DeviceMessage.back(label, lostAt: lostAt, backAt: backAt))
        }
    }

    /// False keeps the error to this node.
    func childFailed(_ message: Message, _ report: Message.Report) -> Bool {
        let (chain, standIn, isTrying, label, loss, isEnding) = position.withLock {
            ($0.chain, $0.standIn, $0.isTrying, $0.label, $0.loss, $0.ending != .none)
        }
        guard message.sourceName != standIn?.element.name else { return true }
        // A device that was being opened when the stream was to end is left to itself, and may fail later.
        guard let chain else { return !isEnding }
        // GStreamer's base class for sources says once more that the stream is over.
        guard loss == nil else { return false }
        // Some conversions are refused when data is to flow: 64 channels of two.
        if report.debug.contains("not-negotiated"), pad?.currentCaps == nil {
            if isTrying { lost(chain.cannotConvert) } else { failOnce(chain.cannotConvert) }
            return false
        }
        let wasRunning = chain.flow.end != nil
        let error = DeviceFailure.error(
            report.error, debug: report.debug, device: label, path: chain.path, wasRunning: wasRunning)
        // What downstream makes of the stream isn't the device's fault.
        guard let error = error ?? (isTrying ? .processingFailed(.init(label, actual: report.error.message)) : nil)
        else { return true }
        lost(error)
        return false
    }

    private func lost(_ error: MediaGraphError) {
        let endsGraph = position.withLock { position in
            guard position.loss == nil else { return false }
            position.lose(error)
            return !position.isTrying && settings.current.reconnect == .never && !position.isOver
        }
        if endsGraph { failOnce(error) }
    }

    /// PulseAudio has moved the capture: to the speaker's monitor, when the microphone goes, and says so before it gives
    /// anything of that.
    func deviceMoved() {
        guard let chain = position.withLock({ $0.chain }),
            let current = try? chain.device.propertyText("current-device"), !current.isEmpty
        else { return }
        let wanted = (try? chain.device.propertyText("device")) ?? ""
        let first = position.withLock { position in
            position.firstSource = position.firstSource ?? current
            return position.firstSource
        }
        let hasMoved =
            if wanted.isEmpty || wanted.hasPrefix("@") {
                // Another default microphone is one too; where it was a speaker's sound from the beginning, that was wanted.
                current.hasSuffix(".monitor") && first?.hasSuffix(".monitor") == false
            } else if Int(wanted) != nil {
                current != first
            } else {
                current != wanted
            }
        guard hasMoved else { return }
        chain.flow.cut()
        lost(
            .deviceGone(
                .init(
                    chain.label, actual: "was disconnected; the sound server switched to \(current)")))
    }
}
