import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// A stock `appsink` that was looked up as a pipe. Its callbacks feed a `PipeDelivery`, as in a `rawdatapipe`.
///
/// The element isn't replaced by a `rawdatapipe`, because a delayed link (to a pad that decodebin adds later) refers to
/// it. A stock element doesn't report its state changes to this object, so the graph reports them.
package final class StockPipe: Sendable {
    let delivery: PipeDelivery
    /// The same statistics as the `stats` property of a `rawdatapipe`.
    package var statistics: Structure { delivery.statistics.structure }
    private let sink: AppSink
    /// The handler; stays for the next run.
    private let attached = Mutex<ConsumerHandle?>(nil)

    private static let vtable = NodeVTable.make { vtable in
        vtable.set_consumer = { element, consumer, error in
            StockVTable.answer(element, error, as: StockPipe.self) { (pipe) throws(MediaGraphError) in
                try pipe.attach(consumer?.pointee)
            }
        }
        vtable.subscribe = { element, consumer, resolution, format, error in
            StockVTable.answer(element, error, as: StockPipe.self) { (pipe) throws(MediaGraphError) in
                try pipe.delivery.subscribe(
                    consumer!.pointee, try Resolution(checking: resolution), try PipeFormat(checking: format))
            }
        }
        vtable.unsubscribe = { element, identity, error in
            StockVTable.answer(element, error, as: StockPipe.self) { (pipe) throws(MediaGraphError) in
                try pipe.delivery.unsubscribe(identity!)
            }
        }
        vtable.set_resolution = { element, identity, resolution, error in
            StockVTable.answer(element, error, as: StockPipe.self) { (pipe) throws(MediaGraphError) in
                try pipe.delivery.setResolution(try Resolution(checking: resolution), of: identity!)
            }
        }
    }

    /// Creates a pipe; `nil` if the element isn't an appsink. Call it before data flows. `close` undoes it.
    init?(_ element: Element) {
        guard let sink = AppSink(element) else { return nil }
        self.sink = sink
        let delivery = PipeDelivery(
            owner: WeakElement(ElementInstance(sink.raw)), appSink: sink, setsSynchronization: false)
        self.delivery = delivery
        sink.setDelegate(delivery)
        // Weak, to avoid a reference cycle: the delivery retains the sink, and the sink its pad.
        sink.staticPad("sink")?.watchEvents { [weak delivery] event in
            switch event {
            case .flushStart: delivery?.hold(.flushing)
            case .flushStop: delivery?.flushStopped()
            case .reconfigure, .latency, .upstream: break
            }
        }
        StockVTable.install(Self.vtable, for: self, on: sink)
    }

    func close() {
        StockVTable.remove(from: sink)
        delivery.close()
    }

    /// Sets the handler, or removes it with `nil`.
    private func attach(_ abi: MGVideoConsumer?) throws(MediaGraphError) {
        guard !delivery.isRunning else {
            throw .lockedWhileRunning(
                .init(
                    "\(sink.name)'s handler",
                    actual: "can't be attached or detached while the graph runs; stop the graph first"))
        }
        guard let abi else {
            // Released outside the lock: a handler's `deinit` may call anything.
            _ = attached.withLock { $0.take() }
            return
        }
        let isAttached = attached.withLock { attached in
            guard attached == nil else { return false }
            attached = ConsumerHandle(abi)
            return true
        }
        guard isAttached else {
            throw .alreadyInUse(.init(sink.name, actual: "already has a handler; remove it first"))
        }
    }

    /// The delivery's settings, from the element's own properties for a receiver that is too slow. The sink itself
    /// never queues: its callback takes each sample when it arrives.
    private var settings: PipeSettings {
        let bound = (try? sink.property("max-buffers", as: UInt32.self)) ?? 0
        let drops = (try? sink.property("drop", as: Bool.self)) ?? false
        var settings = PipeSettings()
        if bound > 0 { settings.maxFrames = Int32(clamping: bound) }
        settings.backPressure = drops ? .dropOld : bound > 0 ? .block : .auto
        return settings
    }

    // MARK: The graph's changes of state

    /// Called before PAUSED. No thread may wait in the handler until PLAYING is reached, since the state change would
    /// wait, too.
    func start() {
        delivery.start(settings, handler: attached.withLock { $0 }, format: nil)
        delivery.hold(.paused)
    }

    /// Called in PLAYING.
    func didStartPlaying() { delivery.release(.paused) }

    /// Called before NULL.
    func willStop() { delivery.hold(.stopping) }

    /// Called in NULL.
    func didStop() { delivery.stop() }
}
