import GStreamer

/// A pipe's pad `src` and what leads to it: a `tee` in front of the appsink.
///
/// ```
/// sink ─▶ tee ─┬─▶ src ─▶ a sink, or whatever else
///              └─▶ appsink
/// ```
/// `src` comes first: its sink takes the first buffer to preroll, while appsink only gives it up when the graph plays.
struct RenderBranch: Sendable {
    /// `nil` once it was released while data flowed.
    private(set) var source: GhostPad?
    let tee: Element
    private let outlets: [Pad]
    private var hidden: GhostPad.BufferHold?

    /// Puts it between the bin's pad and the appsink.
    init?(_ bin: BinElement, from sink: GhostPad, to appSink: AppSink) {
        guard let tee = Element(factory: "tee"), let inlet = tee.staticPad("sink"),
            let first = tee.requestPad("src_%u"),
            let second = tee.requestPad("src_%u"), let end = appSink.staticPad("sink")
        else { return nil }
        // Nothing need be linked to `src`: the frames come all the same.
        try? tee.setProperty("allow-not-linked", to: true)
        bin.add(tee)
        // The appsink's pad has room for one peer.
        sink.setTarget(inlet)
        guard second.link(to: end) else { return nil }
        sink.chainToTarget()
        source = bin.addGhostPad("src", target: first)
        (self.tee, outlets) = (tee, [first, second])
    }

    /// What follows `src` gets gaps for frames.
    mutating func hideFrames() { if hidden == nil { hidden = source?.replaceBuffersWithGaps() } }

    mutating func showFrames() { if let hold = hidden.take() { source?.release(hold) } }

    /// While data flows: the pad goes, and the tee stays until `remove`, since what is under way in it would be refused.
    mutating func takeSource() -> GhostPad? {
        hidden = nil
        return source.take()
    }

    /// Leads the bin's pad to the appsink again.
    func remove(from bin: BinElement, _ sink: GhostPad, _ appSink: AppSink) {
        if let source { bin.remove(source) }
        for outlet in outlets { tee.releasePad(outlet) }
        bin.remove(tee)
        sink.setTarget(appSink.staticPad("sink")!)
        sink.chainToTarget()
    }
}
