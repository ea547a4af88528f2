import CMediaGraphABI
import GStreamer
import MediaGraphCore
import Synchronization

/// A stock `appsrc` that was looked up as a source: what is sent goes through the same gate as a `videosource`'s, and the
/// element's streaming thread fetches it there, a frame at a time, whenever its own queue is empty.
///
/// Its state changes are told by the graph, which makes them.
package final class StockSource: Sendable {
    let gate: VideoGate
    /// As the `stats` property of a `videosource`.
    package var statistics: Structure { gate.statistics.structure }
    private let lifecycle: SourceLifecycle<VideoSourceHandle>
    private let source: AppSource
    /// Its `caps` when the run began.
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

    /// `nil` for any other element. Before data flows; `setUp` follows, and `close` undoes it.
    init?(_ element: Element) throws(StockNodeError) {
        guard let source = AppSource(wrapping: element) else { return nil }
        self.source = source
        if let problem = Self.problem(with: source) { throw .wrongUsage("\"\(source.name)\": \(problem)") }
        gate = VideoGate(
            owner: WeakElement(ElementInstance(source.raw)), marks: FrameMarks(), startsEarly: true)
        lifecycle = SourceLifecycle(gate)
        source.staticPad("src")?.watchEvents { [weak gate] event in
            switch event {
            case .reconfigure: gate?.downstreamReconfigured()
            case .flushStart: gate?.flush()
            case .flushStop: gate?.resume()
            case .latency(let latency): gate?.latencyDecided(latency)
            }
        }
        source.onNeedData { self.feed() }
        StockVTable.open(Self.vtable, to: self, on: source)
    }

    /// Once; whoever listens to the element hears of it.
    func setUp() {
        guard !isSetUp.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // Frames have times, and none is asked for while another is on its way.
        try? source.setProperty("format", parsing: "time")
        try? source.setProperty("min-percent", to: UInt32(0))
    }

    /// Why the element's properties rule it out as a source; `nil` if they don't.
    private static func problem(with source: AppSource) -> String? {
        // It sends them before it asks for the first frame, and with ranges in them GStreamer itself fails.
        if let caps = source.caps, !caps.isFixed { return "the caps of an appsrc must be fixed: \(caps)" }
        let streamType = (try? source.propertyText("stream-type")) ?? "stream"
        guard streamType != "stream" else { return nil }
        return "a source's frames come once, in their order: expected stream-type=stream, got stream-type=\(streamType)"
    }

    func close() {
        StockVTable.close(on: source)
        source.removeFeed()
    }

    /// `nil` takes the source away.
    private func attach(_ abi: MGVideoSource?) throws(MediaGraphError) {
        try lifecycle.attach(
            to: source.name, isInNull: source.state == .null, abi.map { abi in { VideoSourceHandle(abi) } })
    }

    /// What the element's own properties say.
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

    /// What can be sent, by what follows and by the description; `nil`: anything.
    private var downstream: Caps? {
        let taken = source.staticPad("src")?.peerCaps()
        guard let described = described.withLock({ $0 }) else { return taken }
        return taken.map(described.intersection) ?? described
    }

    // MARK: The graph's changes of state

    /// In READY.
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

    /// PLAYING was asked for. An appsrc that isn't live may be in PAUSED yet: its first frame is what the sinks wait for.
    func startSend() throws(MediaGraphError) {
        try lifecycle.startSend()
        phase.withLock { $0 = .sending }
    }

    /// Before NULL.
    func stopSend() {
        let wasSending = phase.withLock { phase in
            guard phase == .sending else { return false }
            phase = .initialized
            return true
        }
        if wasSending { lifecycle.stopSend() }
        // Sends the streaming thread away, which waits for frames with the element's lock held.
        gate.flush()
    }

    /// In NULL.
    func uninitialize() {
        let was = phase.withLock { phase in
            defer { phase = .idle }
            return phase
        }
        if was != .idle { lifecycle.uninitialize() }
        // Otherwise the next run would first announce the caps of the last frame that was sent.
        if was != .idle, let described = described.withLock({ $0 }) { source.describe(described) }
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
            case .off: source.pushSticky(StreamStatus.event(on: false))
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

    /// New caps downstream. False when they are refused: that is on the bus then, with both sides.
    private func announce(_ format: SentFormat) -> Bool {
        guard described.withLock({ $0 }).map(format.caps.canIntersect) ?? true, source.downstreamAccepts(format.caps)
        else {
            gate.failed()
            let taken = downstream.map { "\($0)" } ?? "nothing"
            source.postError(
                .notNegotiated, "\(source.name): downstream doesn't accept the source's format",
                debug: "not-negotiated: the source sends \(format.caps); downstream takes \(taken)")
            return false
        }
        source.setCaps(format.caps)
        return true
    }
}
