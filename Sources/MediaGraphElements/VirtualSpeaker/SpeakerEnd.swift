import GStreamer
import Synchronization

/// Where a stream ends that nobody else takes: it is a sink, so the graph ends when the stream does.
final class SpeakerEnd: Sendable {
    private let sink = Mutex<Element?>(nil)
    private let inlet = Mutex<Pad?>(nil)

    /// `prerolls`: whether PAUSED, if that is on its way, waits for a first block.
    init(in bin: ElementInstance, prerolls: Bool = false) { add(to: bin, prerolls: prerolls) }

    func add(to bin: ElementInstance, prerolls: Bool = false) {
        let element = Element(factory: "fakesink")!
        try? element.setProperty("sync", to: false)
        try? element.setProperty("async", to: prerolls)
        try? element.setProperty("enable-last-sample", to: false)
        bin.add(element)
        element.syncState()
        sink.withLock { $0 = element }
    }

    var pad: Pad { sink.withLock { $0!.staticPad("sink")! } }

    /// Before PAUSED: whether that waits for a first block.
    func setPrerolls(_ on: Bool) { sink.withLock { try? $0?.setProperty("async", to: on) } }

    /// In PAUSED: it waits for a first block after all.
    func beginPreroll() { sink.withLock { $0 }?.beginPreroll() }

    func take(_ tee: Element) {
        guard let outlet = tee.requestTeeOutlet() else { return }
        _ = outlet.link(to: pad)
        inlet.withLock { $0 = outlet }
    }

    func give(up tee: Element, in bin: BinElement) {
        if let outlet = inlet.withLock({ $0.take() }) { tee.releasePad(outlet) }
        remove(from: bin)
    }

    func remove(from bin: BinElement) { if let element = sink.withLock({ $0.take() }) { bin.remove(element) } }
}
