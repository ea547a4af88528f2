import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// A stock `appsink` that was looked up as a pipe: its callbacks feed a `PipeDelivery`, as in a `rawdatapipe`.
///
/// The element isn't replaced, because a delayed link (to a pad that decodebin adds later) refers to it. A stock element
/// doesn't report its state changes to this object, so the graph reports them.
package final class StockPipe: Sendable {
    let delivery: PipeDelivery
    /// As the `stats` property of a `rawdatapipe`.
    package var statistics: Structure { delivery.statistics.structure }
    private let sink: AppSink
    /// Stays for the next run too.
    private let attached = Mutex<ConsumerHandle?>(nil)

    private static let vtable = NodeVTable.make { vtable in
        vtable.set_consumer = { element, consumer, error in
            StockVTable.answer(element, error, as: StockPipe.self) { (pipe) throws(MediaGraphError) in
                try pipe.attach(consumer?.pointee)
            }
        }
        vtable.subscribe = { element, consumer, resolution, error in
            StockVTable.answer(element, error, as: StockPipe.self) { (pipe) throws(MediaGraphError) in
                try pipe.delivery.subscribe(consumer!.pointee, resolution: try Resolution(checking: resolution))
            }
        }
        vtable.unsubscribe = { element, identity, error in
            StockVTable.answer(element, error, as: StockPipe.self) { (pipe) throws(MediaGraphError) in
                try pipe.delivery.unsubscribe(identity!)
            }
        }
    }

    /// `nil` for any other element. Before data flows; `close` undoes it.
    init?(_ element: Element) {
        guard let sink = AppSink(element) else { return nil }
        self.sink = sink
        let delivery = PipeDelivery(
            owner: WeakElement(ElementInstance(sink.raw)), appSink: sink, setsSynchronization: false)
        self.delivery = delivery
        sink.setDelegate(delivery)
        // Weak: the pad belongs to the sink, which the delivery holds.
        sink.staticPad("sink")?.watchEvents { [weak delivery] event in
            switch event {
            case .flushStart: delivery?.hold(.flushing)
            case .flushStop: delivery?.flushStopped()
            case .reconfigure, .latency: break
            }
        }
        StockVTable.open(Self.vtable, to: self, on: sink)
    }

    func close() {
        StockVTable.close(on: sink)
        delivery.close()
    }

    /// `nil` takes the handler away.
    private func attach(_ abi: MGVideoConsumer?) throws(MediaGraphError) {
        guard !delivery.isRunning else {
            throw .lockedWhileRunning(.init("\(sink.name)'s handler", expected: "to be attached before the graph runs"))
        }
        guard let abi else {
            // Let go outside the lock: the end of a handler may call anything.
            let replaced = attached.withLock { attached in
                defer { attached = nil }
                return attached
            }
            return withExtendedLifetime(replaced) {}
        }
        let isTaken = attached.withLock { attached in
            guard attached == nil else { return false }
            attached = ConsumerHandle(abi)
            return true
        }
        guard isTaken else { throw .alreadyInUse(.init(sink.name, expected: "one handler", actual: "a second")) }
    }

    /// What the element's own properties say about a receiver that is too slow. The sink itself never queues: each sample is
    /// taken from it as it comes.
    private var settings: PipeSettings {
        let bound = (try? sink.property("max-buffers", as: UInt32.self)) ?? 0
        let drops = (try? sink.property("drop", as: Bool.self)) ?? false
        var settings = PipeSettings()
        if bound > 0 { settings.maxFrames = Int32(clamping: bound) }
        settings.backPressure = drops ? .dropOld : bound > 0 ? .block : .auto
        return settings
    }

    // MARK: The graph's changes of state

    /// Before PAUSED. On the way to PLAYING nobody waits in the handler, for the change would wait with it.
    func start() {
        delivery.start(settings, handler: attached.withLock { $0 }, format: nil)
        delivery.hold(.paused)
    }

    func isPlaying() { delivery.release(.paused) }

    /// Before NULL.
    func willStop() { delivery.hold(.stopping) }

    /// In NULL.
    func stopped() { delivery.stop() }
}
