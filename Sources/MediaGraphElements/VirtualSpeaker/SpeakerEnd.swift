import GStreamer
import Synchronization

/// A fakesink inside a speaker, for a stream that leaves the speaker by no pad. Because the element is a sink, the
/// graph's EOS waits for the end of the stream.
final class SpeakerEnd: Sendable {
    private let sink = Mutex<Element?>(nil)
    /// The tee's pad that feeds the sink.
    private let inlet = Mutex<Pad?>(nil)

    /// Adds the sink to the bin. `prerolls` says whether the change to PAUSED waits for a first block.
    init(in bin: ElementInstance, prerolls: Bool = false) { add(to: bin, prerolls: prerolls) }

    func add(to bin: ElementInstance, prerolls: Bool = false) {
        let element = Element(factory: "fakesink")!
        element.configure("sync", to: false)
        element.configure("async", to: prerolls)
        element.configure("enable-last-sample", to: false)
        bin.add(element)
        element.syncState()
        sink.withLock { $0 = element }
    }

    var pad: Pad { sink.withLock { $0!.staticPad("sink")! } }

    /// Sets whether the change to PAUSED waits for a first block. Call it before that change.
    func setPrerolls(_ on: Bool) { sink.withLock { $0?.configure("async", to: on) } }

    /// Makes the change to PAUSED wait for a first block. Call it in PAUSED.
    func beginPreroll() { sink.withLock { $0 }?.beginPreroll() }

    /// Links a new pad of the tee to the sink.
    func link(to tee: Element) {
        guard let outlet = tee.requestTeeOutlet() else { return }
        _ = outlet.link(to: pad)
        inlet.withLock { $0 = outlet }
    }

    /// Releases the tee's pad and removes the sink.
    func unlink(from tee: Element, in bin: BinElement) {
        if let outlet = inlet.withLock({ $0.take() }) { tee.releasePad(outlet) }
        remove(from: bin)
    }

    func remove(from bin: BinElement) { if let element = sink.withLock({ $0.take() }) { bin.remove(element) } }
}
