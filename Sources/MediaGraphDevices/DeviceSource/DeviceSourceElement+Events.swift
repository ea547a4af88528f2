import GStreamer
import MediaGraphCore

/// Events and errors of the device, and messages about it.
extension DeviceSourceElement {
    /// Posts the chosen format.
    func tellFormat(_ chain: DeviceChain) {
        // The open device has its final name.
        deviceState.withLock { $0.label = chain.label }
        guard !chain.format.isEmpty else { return }
        Self.log.log(.info, element, "\(chain.label): \(chain.format)")
        post(DeviceMessage.format(chain.label, chain.format))
    }

    /// Handles an event of the flow. Called on the device's streaming thread.
    func flowed(_ event: DeviceFlow.Event) {
        switch event {
        case .arrived: deviceState.withLock { $0.hasArrived = true }
        case .ended:
            // Elements whose device was lost also end their stream; downstream must not see that.
            let chain = deviceState.withLock { deviceState in
                guard deviceState.loss == nil || deviceState.ending == .told else { return deviceState.chain }
                deviceState.isOver = true
                return nil
            }
            chain?.flow.cut()
        case .resumed: if deviceState.withLock({ $0.chain })?.isFromSoundServer == true { deviceMoved() }
        case .began(let caps, let time, let latency):
            if deviceState.withLock({ $0.chain })?.isFromSoundServer == true { deviceMoved() }
            let (label, lostAt) = deviceState.withLock { deviceState in
                deviceState.latency = latency
                defer { deviceState.lostAt = nil }
                return (deviceState.label, deviceState.lostAt)
            }
            Self.log.log(.info, element, "\(label): data flows, caps \(caps.map { "\($0)" } ?? "unknown")")
            guard let lostAt else { return }
            let backAt = time ?? element.currentRunningTime ?? lostAt
            absences.add(max(.zero, backAt - lostAt))
            post(DeviceMessage.back(label, lostAt: lostAt, backAt: backAt))
        }
    }

    /// Handles an error of a child element. Returns false to keep the message from the graph's bus.
    func childFailed(_ message: Message, _ report: Message.Report) -> Bool {
        let (chain, standIn, isTrying, label, loss, isEnding) = deviceState.withLock {
            ($0.chain, $0.standIn, $0.isTrying, $0.label, $0.loss, $0.ending != .none)
        }
        guard message.sourceName != standIn?.element.name else { return true }
        // A device that was being opened when the stream ended was abandoned, and may fail later.
        guard let chain else { return !isEnding }
        // GstBaseSrc posts another error because the stream has ended.
        guard loss == nil else { return false }
        // Some conversions are refused only when data flows, such as from 2 to 64 channels.
        if report.debug.contains("not-negotiated"), pad?.currentCaps == nil {
            if isTrying { lost(chain.cannotConvert) } else { failOnce(chain.cannotConvert) }
            return false
        }
        let wasRunning = chain.flow.end != nil
        let error = DeviceFailure.error(
            report.error, debug: report.debug, device: label, path: chain.path, wasRunning: wasRunning)
        // Other errors of a running device come from downstream, and aren't about the device.
        guard let error = error ?? (isTrying ? .processingFailed(.init(label, actual: report.error.message)) : nil)
        else { return true }
        lost(error)
        return false
    }

    /// Records the loss of the device; with `reconnect=never`, ends the graph.
    private func lost(_ error: MediaGraphError) {
        let endsGraph = deviceState.withLock { deviceState in
            guard deviceState.loss == nil else { return false }
            deviceState.lose(error)
            return !deviceState.isTrying && settings.current.reconnect == .never && !deviceState.isOver
        }
        if endsGraph { failOnce(error) }
    }

    /// Handles a switch of the sound server to another source. When a microphone is lost, PulseAudio switches to the
    /// speaker's monitor, and reports it before it sends data from there.
    func deviceMoved() {
        guard let chain = deviceState.withLock({ $0.chain }),
            let current = try? chain.device.propertyText("current-device"), !current.isEmpty
        else { return }
        let wanted = (try? chain.device.propertyText("device")) ?? ""
        let first = deviceState.withLock { deviceState in
            deviceState.firstSource = deviceState.firstSource ?? current
            return deviceState.firstSource
        }
        let hasMoved =
            if wanted.isEmpty || wanted.hasPrefix("@") {
                // For the default microphone, another microphone is fine. So is a monitor, if the stream started with
                // one.
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
