import GStreamer
import MediaGraphCore

/// The ways that streams take through a `virtualspeaker`, and what PAUSED waits for.
extension VirtualSpeakerElement {
    /// `prerolls`: whether PAUSED, which is on its way, waits for the first block of a share.
    func connect(_ input: SpeakerInput, prerolls: Bool = false) {
        _ = input.connect { () -> Pad? in
            guard input.isShared else { return mix.requestPad() }
            let end = SpeakerEnd(in: instance, prerolls: prerolls)
            state.withLock { $0.sharedEnds[ObjectIdentifier(input)] = end }
            return end.pad
        }
    }

    func disconnect(_ input: SpeakerInput, _ outlet: Pad, isShared: Bool) {
        guard isShared else { return mix.release(outlet) }
        state.withLock { $0.sharedEnds.removeValue(forKey: ObjectIdentifier(input)) }?.remove(from: self)
    }

    private func sharedEnd(of input: SpeakerInput) -> SpeakerEnd? {
        state.withLock { $0.sharedEnds[ObjectIdentifier(input)] }
    }

    /// A stream begins, which says itself whether it is a share's sound.
    func turn(_ input: SpeakerInput, _ pad: GhostPad, _ streamID: String) {
        guard isRunning else { return }
        input.turn(for: streamID, pad, in: self) { outlet, wasShared, isUsed in
            guard isUsed, !wasShared else { return disconnect(input, outlet, isShared: wasShared) }
            if delivery.liveness == true { mix.keepGoing() }
            mix.letDrain(outlet)
        }
    }

    /// Whoever gives a pad back may be the one that the mixer waits for.
    func finish(_ remains: SpeakerInput.Remains) {
        besides("mg-leaver") { speaker in
            remains.finish(in: speaker)
            speaker.mix.drain(remains.outlet)
        }
    }

    /// The share has ended, and there was nothing to mix. Its thread holds its sink in the callback that tells so; waiting in
    /// the mix's sink at the same time, it would hold up a change of state, which stops one sink after the other.
    func endUnheard() { besides("mg-unheard") { $0.mix.endUnheard() } }

    /// On a thread of its own, which may wait in the graph; a change to READY waits for it.
    private func besides(_ name: String, _ work: @escaping @Sendable (VirtualSpeakerElement) -> Void) {
        helpers.withLock { $0 += 1 }
        NativeThread(name) { [self, element] in
            work(self)
            helpers.withLock { $0 -= 1 }
            withExtendedLifetime(element) {}
        }.detach()
    }

    /// Linked ones get their way as PAUSED begins.
    ///
    /// Where files are heard PAUSED waits for their first block, as it does with stock sinks: a seek before that would reach
    /// some of them only, and the mix would wait for the others for ever. A reader in Swift begins when the graph runs, and
    /// until then takes only so much; and who isn't known to send in PAUSED isn't waited for there.
    ///
    /// See RawDataPipeElement, too: behind pads that come with the data this must announce PAUSED itself.
    func connect(
        _ inputs: [(pad: GhostPad, input: SpeakerInput)], _ consumer: AudioConsumerHandle?, hasSource: Bool
    ) {
        func prerolls(_ inputs: [(pad: GhostPad, input: SpeakerInput)]) -> Bool {
            if inputs.contains(where: { $0.pad.pad.isLinkedLater() }) { return true }
            return consumer?.queues != true && !inputs.isEmpty && inputs.allSatisfy { $0.pad.pad.isFedInPaused() }
        }
        mix.setPrerolls(!hasSource && prerolls(inputs.filter { !$0.input.isShared }))
        for input in inputs where input.pad.pad.isLinked {
            connect(input.input, prerolls: input.input.isShared && prerolls([input]))
        }
    }

    /// The same for one that comes with the data, while somebody else still keeps PAUSED.
    func linked(_ input: SpeakerInput, _ pad: GhostPad) {
        let (consumer, hasSource) = state.withLock { ($0.current, $0.source != nil) }
        guard isRunning, !element.isPlaying, delivery.liveness != true, pad.pad.isFedInPaused() else { return }
        connect(input)
        // From now on a seek that goes upstream has to find its way. A decoder knows its format by now.
        if let format = delivery.format, let caps = pad.pad.peer?.currentCaps, caps.unpositionedChannels == nil {
            _ = input.prepare(caps, for: format, pad, in: self)
        } else {
            input.lead(pad)
        }
        guard consumer?.queues != true else { return }
        if input.isShared {
            sharedEnd(of: input)?.beginPreroll()
        } else if !hasSource {
            mix.beginPreroll()
        }
    }
}
