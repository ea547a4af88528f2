import GStreamer
import MediaGraphCore

/// How streams are routed through a `virtualspeaker`, and which streams the change to PAUSED waits for.
extension VirtualSpeakerElement {
    /// Connects an input to the mixer, or to a sink of its own if it is a share's sound. `prerolls` says whether the
    /// change to PAUSED waits for the first block of a share.
    func connect(_ input: SpeakerInput, prerolls: Bool = false) {
        _ = input.connect { () -> Pad? in
            guard input.isShared else { return mix.requestPad() }
            let end = SpeakerEnd(in: instance, prerolls: prerolls)
            state.withLock { $0.sharedEnds[ObjectIdentifier(input)] = end }
            return end.pad
        }
    }

    /// Releases an input's outlet: the mixer's pad, or the sink of a share's sound.
    func disconnect(_ input: SpeakerInput, _ outlet: Pad, isShared: Bool) {
        guard isShared else { return mix.release(outlet) }
        state.withLock { $0.sharedEnds.removeValue(forKey: ObjectIdentifier(input)) }?.remove(from: self)
    }

    private func sharedEnd(of input: SpeakerInput) -> SpeakerEnd? {
        state.withLock { $0.sharedEnds[ObjectIdentifier(input)] }
    }

    /// Called when a stream begins. Reroutes the input if the stream's ID says that it is a share's sound and the
    /// previous stream wasn't, or the other way round.
    func reroute(_ input: SpeakerInput, _ pad: GhostPad, _ streamID: String) {
        guard isRunning else { return }
        input.reroute(for: streamID, pad, in: self) { outlet, wasShared, isUsed in
            guard isUsed, !wasShared else { return disconnect(input, outlet, isShared: wasShared) }
            if delivery.liveness == true { mix.keepGoing() }
            mix.releaseAfterMixing(outlet)
        }
    }

    /// Drains a released pad's chain on a helper thread. The releasing thread can't wait for the mixer, because the
    /// mixer may be waiting for that thread.
    func finish(_ remains: SpeakerInput.DetachedChain) {
        runOnHelperThread("mg-leaver") { speaker in
            remains.finish(in: speaker)
            speaker.mix.drain(remains.outlet)
        }
    }

    /// Ends the mix on a helper thread, because the share has ended and there are no users to mix. The share's
    /// streaming thread is in a callback inside its own sink now. If it also waited in the mix's sink, it would block a
    /// state change, which stops one sink after the other.
    func endWithoutUsers() { runOnHelperThread("mg-unheard") { $0.mix.endWithoutUsers() } }

    /// Runs `work` on a thread of its own, which may wait in the graph. The change to READY waits for the thread.
    private func runOnHelperThread(_ name: String, _ work: @escaping @Sendable (VirtualSpeakerElement) -> Void) {
        helpers.withLock { $0 += 1 }
        NativeThread(name) { [self, element] in
            work(self)
            helpers.withLock { $0 -= 1 }
            withExtendedLifetime(element) {}
        }.detach()
    }

    /// Connects the linked inputs in READY→PAUSED, and decides which of them the change to PAUSED waits for.
    ///
    /// If files are played, PAUSED waits for their first blocks, as stock sinks do. Otherwise an early seek would reach
    /// only some of the files, and the mix would wait for the others forever. PAUSED doesn't wait for a handler with
    /// its own queue, whose reader in Swift begins only when the graph runs, nor for streams that aren't known to send
    /// in PAUSED.
    ///
    /// Behind pads that are added with the data, the speaker must complete PAUSED itself; see also
    /// `RawDataPipeElement`.
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

    /// Connects an input that is linked late, with the data, while the change to PAUSED still waits for another
    /// element.
    func linked(_ input: SpeakerInput, _ pad: GhostPad) {
        let (consumer, hasSource) = state.withLock { ($0.current, $0.source != nil) }
        guard isRunning, !element.isPlaying, delivery.liveness != true, pad.pad.isFedInPaused() else { return }
        connect(input)
        // From now on a seek must pass upstream. Behind a decoder the caps are known already.
        if let format = delivery.format, let caps = pad.pad.peer?.currentCaps, caps.unpositionedChannels == nil {
            _ = input.prepare(caps, for: format, pad, in: self)
        } else {
            input.linkDirectly(pad)
        }
        guard consumer?.queues != true else { return }
        if input.isShared {
            sharedEnd(of: input)?.beginPreroll()
        } else if !hasSource {
            mix.beginPreroll()
        }
    }
}
