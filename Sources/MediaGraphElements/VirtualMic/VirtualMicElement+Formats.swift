import GStreamer
import MediaGraphCore

/// What a microphone's streaming thread sends its sound as.
extension VirtualMicElement {
    /// What goes out stays as it is while downstream takes it, whatever is sent: a file has one format.
    func setFormat(_ input: AudioInfo) -> Bool {
        let taken = sourcePad.peerCaps() ?? Caps(AudioSender.caps(stereo: true))!
        var output = input
        if let current = assembler.output, taken.canIntersect(current.caps) {
            output = current
        } else if !taken.canIntersect(input.caps) {
            let choice = taken.intersection(Caps(AudioSender.caps(stereo: true))!)
            guard let caps = choice.fixed(nearRate: input.rate, channels: input.channels), let info = AudioInfo(caps)
            else { return refuse(input.caps, taken) }
            output = info
        }
        guard assembler.setFormat(input, output) else { return refuse(input.caps, taken) }
        Self.log.log(.debug, raw: instance.element, "\(input.caps) goes out as \(output.caps)")
        setCaps(output.caps)
        delay.store(assembler.delay.nanoseconds, ordering: .relaxed)
        if isLive { element.postLatencyChanged() }
        return true
    }

    /// False: on the bus it is with both sides, which the base class's own error doesn't name.
    private func refuse(_ sent: Caps, _ taken: Caps) -> Bool {
        gate.failed()
        postError(
            .notNegotiated,
            taken.isEmpty
                ? "\(name): downstream accepts no format; the sink's device may be missing"
                : "\(name): downstream doesn't accept the source's format",
            debug: "not-negotiated: the source sends \(sent); downstream takes \(taken)")
        return false
    }

    /// Downstream takes something else, perhaps: the next block is asked about anew.
    func renegotiate() {
        guard let output = assembler.output, let taken = sourcePad.peerCaps(), !taken.canIntersect(output.caps) else {
            return
        }
        if assembler.finish() { postponed = .reconfigure } else { assembler.forgetFormats() }
    }
}
