import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// A stock `appsrc` that was looked up as a source.
///
/// Sent frames go through the same gate as those of a `videosource`. The element's streaming thread takes one frame at
/// a time from the gate, when the element's own queue is empty. The graph reports the element's state changes to this
/// object.
package final class StockSource: Sendable {
    let gate: VideoGate
    /// The same statistics as the `stats` property of a `videosource`.
    package var statistics: Structure { gate.statistics.structure }
    private let lifecycle: SourceLifecycle<VideoSourceHandle>
    private let source: AppSource
    /// The element's `caps` property at the start of the run.
    private let described = Mutex<Caps?>(nil)
    private let isSetUp = Atomic<Bool>(false)
    private enum Phase { case idle, initialized, sending }
    private let phase = Mutex(Phase.idle)

    private static let vtable = NodeVTable.make { vtable in
        vtable.set_source = { element, source, error in
            StockVTable.answer(element, error, as: StockSource.self) { (node) throws(MediaGraphError) in
                try node.attach(source?.pointee)
            }
        }
    }

    /// Creates a source; `nil` if the element isn't an appsrc. Throws `wrongUsage` if its properties rule it out. Call
    /// it before data flows, and `setUp` afterwards. `close` removes it from the element; the pad keeps the event
    /// watch, which then does nothing.
    init?(_ element: Element) throws(StockNodeError) {
        guard let source = AppSource(wrapping: element) else { return nil }
        self.source = source
        if let problem = Self.problem(with: source) { throw .wrongUsage("\"\(source.name)\": \(problem)") }
        gate = VideoGate(
            owner: WeakElement(ElementInstance(source.raw)), marks: FrameMarks(), startsEarly: true)
        lifecycle = SourceLifecycle(gate)
        source.staticPad("src")?.watchEvents { [weak gate, weak lifecycle] event in
            switch event {
            case .reconfigure: gate?.downstreamReconfigured()
            case .flushStart: gate?.flush()
            case .flushStop: gate?.resume()
            case .latency(let latency): gate?.latencyDecided(latency)
            case .upstream(let structure) where structure.name == Resolution.demandChanged.name:
                gate?.downstreamReconfigured()
            case .upstream(let structure): lifecycle?.received(structure)
            }
        }
        source.onNeedData { self.feed() }
        StockVTable.install(Self.vtable, for: self, on: source)
    }

    /// Sets the element's properties, once. Emits `notify` signals.
    func setUp() {
        guard !isSetUp.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // Frames have timestamps, and the next frame is requested only when the queue is empty.
        source.configure("format", parsing: "time")
        source.configure("min-percent", to: UInt32(0))
    }

    /// Why the element's properties rule it out as a source; `nil` if they don't.
    private static func problem(with source: AppSource) -> String? {
        // An appsrc sends its caps before it requests the first frame, and GStreamer fails on caps that aren't fixed.
        if let caps = source.caps, !caps.isFixed { return "the caps of an appsrc must be fixed: \(caps)" }
        let streamType = (try? source.propertyText("stream-type")) ?? "stream"
        guard streamType != "stream" else { return nil }
        return "stream-type=\(streamType) isn't supported, since frames are sent once, in order; set stream-type=stream"
    }

    func close() {
        StockVTable.remove(from: source)
        source.removeFeed()
    }

    /// Sets the source, or removes it with `nil`.
    private func attach(_ abi: MGVideoSource?) throws(MediaGraphError) {
        try lifecycle.attach(
            to: source.name, isInNull: source.state == .null, abi.map { abi in { VideoSourceHandle(abi) } })
    }

    /// The gate's settings, from the element's own properties.
    private var settings: VideoGate.Settings {
        let isLive = (try? source.property("is-live", as: Bool.self)) ?? false
        let bound = (try? source.property("max-buffers", as: UInt64.self)) ?? 0
        let blocks = (try? source.property("block", as: Bool.self)) ?? false
        var settings = VideoGate.Settings()
        settings.pace = isLive ? .live : .fast
        switch try? source.property("leaky-type", as: Int32.self) {
        case 1: settings.policy = .dropNewest
        case 2: settings.policy = .dropOldest
        default: settings.policy = blocks ? .block : BackPressure.auto.resolved(isLive: isLive)
        }
        if bound > 0 { settings.bound = Int(clamping: min(bound, 1000)) }
        return settings
    }

    /// What can be sent, according to downstream and to the element's `caps`.
    private var downstream: DownstreamConstraints {
        var downstream = source.staticPad("src")?.downstreamConstraints ?? .anything
        guard let described = described.withLock({ $0 }) else { return downstream }
        downstream.caps = downstream.caps.map(described.intersection) ?? described
        return downstream
    }

    // MARK: The graph's changes of state

    /// Called in READY.
    func initialize() throws(MediaGraphError) {
        if let problem = Self.problem(with: source) {
            throw .invalidParameter(.init(source.name, actual: problem))
        }
        let caps = source.caps
        described.withLock { $0 = caps }
        phase.withLock { $0 = .initialized }
        if try !lifecycle.initialize(settings, downstream: downstream) {
            gate.warn("nothing will be sent: attach a source")
        }
        gate.streamBegins()
    }

    /// Called when PLAYING is requested. An appsrc that isn't live may still be in PAUSED, where the sinks wait for its
    /// first frame.
    func startSend() throws(MediaGraphError) {
        try lifecycle.startSend()
        phase.withLock { $0 = .sending }
    }

    /// Called before NULL.
    func stopSend() {
        let wasSending = phase.withLock { phase in
            guard phase == .sending else { return false }
            phase = .initialized
            return true
        }
        if wasSending {
            do throws(MediaGraphError) { try lifecycle.stopSend() } catch { gate.warn("\(error)") }
        }
        // Makes the streaming thread return: it waits for frames while it holds the element's lock.
        gate.flush()
    }

    /// Called in NULL.
    func uninitialize() {
        let last = phase.withLock { phase in
            defer { phase = .idle }
            return phase
        }
        guard last != .idle else { return }
        lifecycle.uninitialize()
        // Restores the caps. Otherwise the next run would start with the caps of the last frame that was sent.
        if let described = described.withLock({ $0 }) { source.describe(described) }
    }

    // MARK: The streaming thread

    private func feed() {
        while true {
            switch gate.next() {
            case .frame(let frame):
                source.push(frame.take())
                return
            case .announced(let frame, let caps, let segment, let on):
                if caps, !announce(frame.format) {
                    frame.discard()
                    source.endOfStream()
                    return
                }
                if segment { source.pushSegment() }
                if on { source.pushSticky(StreamStatus.event(on: true)) }
                source.push(frame.take())
                return
            case .off(let isRequested): source.pushSticky(StreamStatus.event(on: false, isRequested: isRequested))
            case .reconfigure: lifecycle.downstreamChanged(downstream)
            case .drained: break
            case .flush: return
            case .end:
                if case .failure(let error) = gate.ending {
                    source.postError(.processing, "\(source.name): \(error)")
                }
                source.endOfStream()
                return
            }
        }
    }

    /// Sets new caps. If downstream doesn't accept them, posts an error with the caps of both sides and returns false.
    private func announce(_ format: SentFormat) -> Bool {
        guard described.withLock({ $0 }).map(format.caps.canIntersect) ?? true, source.downstreamAccepts(format.caps)
        else {
            gate.failed()
            let accepted = downstream.caps.map { "\($0)" } ?? "nothing"
            source.postError(
                .notNegotiated, "\(source.name): downstream doesn't accept the source's format",
                debug: "not-negotiated: the source sends \(format.caps); downstream accepts \(accepted)")
            return false
        }
        source.setCaps(format.caps)
        return true
    }
}
