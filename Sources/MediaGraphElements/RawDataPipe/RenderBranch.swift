import GStreamer

/// A pipe's pad `src`, and the `tee` in front of the appsink that feeds it.
///
/// ```
/// sink ─▶ tee ─┬─▶ src ─▶ a sink or other elements
///              └─▶ appsink
/// ```
/// `src` is the tee's first pad: the sink behind it must get the first buffer to preroll, and the appsink doesn't
/// return from its first buffer until the graph plays.
struct RenderBranch: Sendable {
    /// `nil` after the pad was released while data flowed.
    private(set) var source: GhostPad?
    let tee: Element
    private let outlets: [Pad]
    private var hidden: GhostPad.BufferHold?
    /// Converts the frames before `src` during a run.
    private var converter: Element?

    /// Inserts the tee between the bin's pad and the appsink. `nil` if that fails; then the bin is as before.
    init?(_ bin: BinElement, from sink: GhostPad, to appSink: AppSink) {
        guard let tee = Element(factory: "tee"), let inlet = tee.staticPad("sink"),
            let first = tee.requestPad("src_%u"),
            let second = tee.requestPad("src_%u"), let end = appSink.staticPad("sink")
        else { return nil }
        // The appsink gets frames even if nothing is linked to `src`.
        tee.configure("allow-not-linked", to: true)
        bin.add(tee)
        // Frees the appsink's pad, which has only one peer.
        sink.setTarget(inlet)
        guard second.link(to: end) else {
            Self.remove(tee, from: bin, sink, end)
            return nil
        }
        sink.chainToTarget()
        source = bin.addGhostPad("src", target: first)
        (self.tee, outlets) = (tee, [first, second])
    }

    /// Sends GAP events instead of frames on `src`.
    mutating func hideFrames() { if hidden == nil { hidden = source?.replaceBuffersWithGaps() } }

    mutating func showFrames() { if let hold = hidden.take() { source?.release(hold) } }

    /// Links an element of the bin that converts the frames before `src`, before data flows. Returns false if it can't be
    /// linked.
    mutating func convert(by converter: Element) -> Bool {
        guard let inlet = converter.staticPad("sink"), let outlet = converter.staticPad("src") else { return false }
        self.converter = converter
        source?.setTarget(outlet)
        return outlets[0].link(to: inlet)
    }

    /// Returns the converter, which the caller must remove from the bin; `nil` if there is none.
    mutating func takeConverter() -> Element? { converter.take() }

    /// Links `src` to the tee again, after the converter has been removed.
    func converterRemoved() { source?.setTarget(outlets[0]) }

    /// Gives up the pad while data flows. The tee stays until `remove`, since removing it would fail the buffers
    /// inside.
    mutating func takeSource() -> GhostPad? {
        hidden = nil
        return source.take()
    }

    /// Removes the tee and links the bin's pad to the appsink again.
    func remove(from bin: BinElement, _ sink: GhostPad, _ appSink: AppSink) {
        if let source { bin.remove(source) }
        for outlet in outlets { tee.releasePad(outlet) }
        Self.remove(tee, from: bin, sink, appSink.staticPad("sink")!)
    }

    private static func remove(_ tee: Element, from bin: BinElement, _ sink: GhostPad, _ end: Pad) {
        bin.remove(tee)
        sink.setTarget(end)
        sink.chainToTarget()
    }
}
