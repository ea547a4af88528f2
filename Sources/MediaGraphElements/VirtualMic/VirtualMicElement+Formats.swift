import GStreamer
import MediaGraphCore

/// The streaming thread's negotiation of the output format.
extension VirtualMicElement {
    /// Sets the format of the blocks that arrive, and chooses the output format. Keeps the current output format if
    /// downstream still accepts it, because a file, for example, has only one format. Returns false, with an error
    /// posted, if no format fits.
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

    /// Posts an error that names both sides' caps, which the base class's own error doesn't. Returns false.
    private func refuse(_ sent: Caps, _ taken: Caps) -> Bool {
        gate.failed()
        postError(
            .notNegotiated,
            taken.isEmpty
                ? "\(name): downstream accepts no format; the sink's device may be missing"
                : "\(name): downstream doesn't accept the source's format",
            debug: "not-negotiated: the source sends \(sent); downstream accepts \(taken)")
        return false
    }

    /// Called when downstream may accept other formats than before. If it refuses the current one, the next block
    /// chooses a new output format.
    func renegotiate() {
        guard let output = assembler.output, let taken = sourcePad.peerCaps(), !taken.canIntersect(output.caps) else {
            return
        }
        if assembler.finish() { postponed = .reconfigure } else { assembler.forgetFormats() }
    }
}
