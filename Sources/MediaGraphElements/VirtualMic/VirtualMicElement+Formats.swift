import GStreamer
import MediaGraphCore

/// The streaming thread's negotiation of the output format.
extension VirtualMicElement {
    /// Sets the format of the blocks that arrive, and chooses the output format. Keeps the current output format if
    /// downstream still accepts it, because a file, for example, has only one format. Returns false, with an error
    /// posted, if no format fits.
    func setFormat(_ input: AudioInfo) -> Bool {
        let taken = sourcePad.peerCaps() ?? Caps(AudioSender.caps(stereo: true))!
        guard let output = self.output(for: input, taken), assembler.setFormat(input, output) else {
            return refuse(input.caps, taken)
        }
        Self.log.log(.debug, raw: instance.element, "\(input.caps) goes out as \(output.caps)")
        setCaps(output.caps)
        delay.store(assembler.delay.nanoseconds, ordering: .relaxed)
        if isLive { element.postLatencyChanged() }
        return true
    }

    /// Returns the output format for blocks of the format `input`; `nil` if downstream accepts none.
    private func output(for input: AudioInfo, _ taken: Caps) -> AudioInfo? {
        if let current = assembler.output, taken.canIntersect(current.caps) { return current }
        if taken.canIntersect(input.caps) { return input }
        let choice = taken.intersection(Caps(AudioSender.caps(stereo: true))!)
        return choice.fixed(nearRate: input.rate, channels: input.channels).flatMap { AudioInfo($0) }
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

    /// Called when downstream may accept other formats than before. If it refuses the current one, chooses a new output
    /// format: at once, because the silence of a pause needs one too. If there is none, the next block reports that.
    func renegotiate() {
        guard let output = assembler.output, let taken = sourcePad.peerCaps(), !taken.canIntersect(output.caps) else {
            return
        }
        guard !assembler.finish() else { return postponed = .reconfigure }
        let input = assembler.input
        assembler.forgetFormats()
        if isOn, let input, self.output(for: input, taken) != nil { _ = setFormat(input) }
    }
}
