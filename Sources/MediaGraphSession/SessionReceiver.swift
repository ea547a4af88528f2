import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphElements
import Synchronization

/// A user's stream as it comes out of a session, behind one of its pads: a live source that reads a `RoomStream`.
///
/// It is made by `mediasession` and known to no factory. It goes on through its user's leaving and coming back, and never
/// ends by itself. Frames are as high as downstream wants them, or as they come.
///
/// `@unchecked Sendable`: `shown`, `isSilent` and `demand` belong to the streaming thread; the rest is constant or behind locks.
final class SessionReceiver: PushSource, @unchecked Sendable {
    /// What downstream has been told.
    private struct Shown {
        var hasBegun = false
        var format: StreamFormat?
        /// It can't take that.
        var isRefused = false
        /// It has been told of one that it takes.
        var hasCaps = false
        /// What was found to be enough for downstream.
        var demand = Resolution.native
        /// Where that is less than there is.
        var scaler: FrameScaler?
        var timing: StreamTiming?
        /// What became of that in this graph, in the run that is.
        var segment: Segment?
        /// Where the publisher has another clock.
        var follower: ClockFollower?
        /// `runs` when the timing was announced; 0 announces it again.
        var run = 0
        var isOn = false
        /// What it has been told of that.
        var isToldOn = false
        var order = FrameOrder()
        /// It has asked for a key frame, and none has come since.
        var wantsKeyFrame = false
        /// What has been warned of.
        var refused: StreamFormat?
        var problem: String?
    }

    /// What warnings call it by.
    private struct Names: Sendable {
        var pad: String
        var sender: String
        /// The stream to report when it stalls; `nil` for a share, which sends only when something changes.
        var steady: StreamKey?
    }

    /// In microseconds. How long nothing must come from a stream that is on before gaps bridge it, and how often they do.
    private static let silenceBeforeGaps: Int64 = 2_000_000
    private static let gapInterval: Int64 = 100_000

    private let reader = Mutex<StreamReader?>(nil)
    private let names = Mutex(Names(pad: "", sender: ""))
    private var shown = Shown()
    /// Nothing has come for `silenceBeforeGaps`.
    private var isSilent = false
    /// Running time from which downstream wants a key frame, in nanoseconds; the greatest for never.
    private let keyFrameTime = Atomic<UInt64>(.max)
    /// Counts when the graph goes on: from then on running time is another.
    private let runs = Atomic<Int>(0)
    /// By downstream's last answer.
    private var demand = Resolution.native

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: "mediasessionsrc", typeName: "GstMediaSessionSrc", longName: "Media session's stream",
            classification: "Source", summary: "A user's stream, as mediasession hands it on",
            author: NodeDefinition.author, padTemplates: [PadTemplate("src", .source, caps: "ANY")],
            properties: [
                .readOnly(
                    "stats", of: SessionReceiver.self, default: NodeStatistics.nothing, "What it has counted"
                ) {
                    $0.reader.withLock { $0 }?.statistics.structure ?? NodeStatistics.nothing
                }
            ],
            abiVersion: NodeDefinition.abiVersion)
    }

    /// For the pad of that session's that is asked for by `key`.
    static func make(_ key: OutputKey, session: String) -> (element: Element, reader: StreamReader)? {
        guard let element = try? ElementClass.make(SessionReceiver.self) else { return nil }
        let receiver = ElementClass.implementation(of: element.element, as: SessionReceiver.self)
        let reader = StreamReader(bound: key.bound)
        receiver.reader.withLock { $0 = reader }
        receiver.names.withLock { $0 = Names(pad: "\(session).\(key.padName)", sender: key.sender, steady: key.steady) }
        return (element, reader)
    }

    override func start() -> Bool {
        reader.withLock { $0 }?.restart()
        return true
    }

    override func stop() -> Bool {
        (shown, isSilent) = (Shown(), false)
        return true
    }

    override func changeState(_ change: StateChange) -> StateChangeResult {
        let reader = reader.withLock { $0 }
        if case .pausedToPlaying = change {
            runs.wrappingAdd(1, ordering: .releasing)
            reader?.play()
        }
        let result = super.changeState(change)
        if case .playingToPaused = change { reader?.pause() }
        return result
    }

    override func unlock() { reader.withLock { $0 }?.flush() }
    override func unlockStop() { reader.withLock { $0 }?.resume() }

    override func endOfStreamRequested() -> Bool {
        reader.withLock { $0 }?.end()
        return true
    }

    override var latency: (isLive: Bool, minimum: ClockTime, maximum: ClockTime?) {
        (true, reader.withLock { $0 }?.latency ?? .zero, nil)
    }

    override func create(_ buffer: inout Buffer?) -> FlowReturn {
        guard let reader = reader.withLock({ $0 }) else { return .endOfStream }
        while true {
            // A stream that is off has gaps to be bridged, and so has one whose sender hangs.
            switch reader.next(timeout: isSilent || !shown.isOn ? Self.gapInterval : Self.silenceBeforeGaps) {
            case .buffer(let next):
                isSilent = false
                if shown.run != runs.load(ordering: .acquiring), let timing = shown.timing { announce(timing) }
                guard let segment = shown.segment, isInTime(next.buffer.access, segment), !shown.isRefused else {
                    if shown.isRefused { pushGap(inPlaceOf: next.buffer.access) }
                    reader.lose(next.buffer)
                    continue
                }
                if let scaler = shown.scaler {
                    guard let scaled = scaler.scaled(next) else {
                        reader.lose(next.buffer)
                        continue
                    }
                    buffer = placed(scaled.buffer.retained, next.number)
                    _ = next.buffer.take()
                } else {
                    buffer = placed(next.buffer.take(), next.number)
                }
                reader.statistics.countFrame()
                return .ok
            case .signal(let signal):
                show(signal)
                if shown.format != nil { reader.setDemand(shown.demand) }
            case .negotiate:
                showAnew()
                reader.setDemand(shown.demand)
            case .memoryFull: warnOfLatency()
            case .refusedDownstream: downstreamRefused()
            case .stalled(let isStalled):
                tellStalled(isStalled)
                if isStalled { bridgeSilence() }
            case .idle: bridgeSilence()
            case .flush: return .flushing
            case .end: return .endOfStream
            }
        }
    }

    /// Where downstream wants one from this frame on, or still does.
    private func askForKeyFrame(at buffer: BufferAccess) {
        let isDue = isKeyFrameDue(buffer)
        shown.wantsKeyFrame = !buffer.isKeyframe && (shown.wantsKeyFrame || isDue)
        if shown.wantsKeyFrame { reader.withLock { $0 }?.requestKeyFrame() }
    }

    private func isKeyFrameDue(_ buffer: BufferAccess) -> Bool {
        let wanted = keyFrameTime.load(ordering: .relaxed)
        guard wanted < .max, let timestamp = buffer.presentationTimestamp,
            let time = shown.segment?.runningTime(of: timestamp), time.nanoseconds >= wanted
        else { return false }
        // One that was asked for meanwhile stands.
        return keyFrameTime.compareExchange(expected: wanted, desired: .max, ordering: .relaxed).exchanged
    }

    /// By the time of the publisher's graph that would be another, and its encoder may be far: it is asked when frames of that
    /// time come.
    override func keyFrameRequested(at time: ClockTime?) -> Bool {
        keyFrameTime.store(time?.nanoseconds ?? 0, ordering: .relaxed)
        if time == nil { reader.withLock { $0 }?.requestKeyFrame() }
        return true
    }

    /// At its time by this graph's clock, and marked where others before it were lost: a decoder has to know.
    private func placed(_ buffer: consuming Buffer, _ number: UInt64) -> Buffer {
        var buffer = buffer
        if let follower = shown.follower { buffer = follower.follow(buffer) }
        if shown.format?.isEncoded == true { askForKeyFrame(at: buffer.access) }
        if shown.order.hasGap(before: number) {
            buffer = buffer.writable()
            buffer.access.markDiscontinuous()
        }
        return buffer
    }

    /// Not what was captured before the reader's own beginning: it has no time there. Encoded frames go by, because those
    /// after them may need them; their decoder drops what lies outside the segment.
    private func isInTime(_ buffer: BufferAccess, _ segment: Segment) -> Bool {
        guard let timestamp = buffer.presentationTimestamp, shown.format?.isEncoded != true else { return true }
        return segment.runningTime(of: timestamp) != nil
    }

    private func show(_ signal: StreamReader.Signal) {
        switch signal {
        case .begin:
            // The first of a run is the base class's own.
            if shown.hasBegun { pushStreamStart() }
            shown = Shown(hasBegun: true)
        case .format(let format): announce(format)
        case .timing(let timing): announce(timing)
        case .status(let isOn):
            shown.isOn = isOn
            announceStatus()
        case .refused(let problem): warn(of: problem)
        }
    }

    /// Once for each reason, of what the stream is until it begins anew.
    private func warn(of problem: String) {
        guard shown.problem != problem else { return }
        shown.problem = problem
        let names = names.withLock { $0 }
        postWarning(.wrongFormat, "\(names.pad) drops what \(names.sender) sends: \(problem)")
    }

    /// What downstream can't take is this stream's trouble alone: it is said, and the graph goes on without it.
    private func announce(_ format: StreamFormat) {
        shown.format = format
        shown.scaler = nil
        let taken = sourcePad.peerCaps()
        // Bins answer ACCEPT_CAPS by their templates, which say more than they take as they are set up.
        let refusal = taken.flatMap { downstreamAccepts(format.caps) && $0.canIntersect(format.caps) ? nil : $0 }
        shown.isRefused = refusal != nil
        if let problem = format.problem {
            shown.isRefused = true
            return warn(of: problem)
        }
        if let refusal { return warn(of: format, taken: refusal) }
        setCaps(format.caps)
        shown.hasCaps = true
        // Filters answer for those behind them once they know a format.
        negotiate()
        shown.demand = demand
        guard let scaler = format.scaler(demand), downstreamAccepts(scaler.caps) else { return }
        setCaps(scaler.caps)
        // One that would enlarge the frames again, for caps behind it, says only now that it is no pass-through.
        negotiate()
        guard demand == shown.demand else {
            shown.demand = .native
            return setCaps(format.caps)
        }
        shown.scaler = scaler
    }

    /// Warns once when downstream rejects a format that its answers to queries promised to take, as some converters do.
    private func downstreamRefused() {
        guard let format = shown.format, !shown.isRefused else { return }
        shown.isRefused = true
        // A segment doesn't arrive behind refused caps. A gap would, and a sink would wait for its time in another segment.
        (shown.hasCaps, shown.segment, shown.run) = (false, nil, 0)
        warn(of: format.refusal)
    }

    private func warn(of format: StreamFormat, taken: Caps) {
        guard shown.refused !== format else { return }
        shown.refused = format
        let names = names.withLock { $0 }
        let difference = FormatConflict.difference(
            format.caps, taken, "\(names.sender) sends", "the linked element takes")
        let mend =
            !format.isEncoded && taken.canIntersect(StreamFormat.encoded)
            ? "remove the decoder or replace it with decodebin" : "insert \(format.converters) between them"
        postWarning(
            .notNegotiated, "\(names.pad) can't deliver \(names.sender)'s stream: \(difference). To fix it, \(mend)")
    }

    /// Downstream has changed.
    private func showAnew() {
        guard let format = shown.format else { return }
        guard !shown.isRefused else {
            guard downstreamAccepts(format.caps) else { return }
            announce(format)
            guard !shown.isRefused, let timing = shown.timing else { return }
            return announce(timing)
        }
        negotiate()
        if demand != shown.demand { announce(format) }
    }

    override func latencyDecided(_ latency: ClockTime) { reader.withLock { $0 }?.setGraphLatency(latency) }

    private func warnOfLatency() {
        let names = names.withLock { $0 }
        let memory = LatencyAllowance.memory >> 20
        postWarning(
            .processing,
            "\(names.pad) drops frames of \(names.sender): the graph's latency would require buffering more than \(memory) MiB; reduce the latency or request a smaller resolution"
        )
    }

    override func downstreamReconfigured() { reader.withLock { $0 }?.negotiate() }

    override func received(_ structure: Structure) {
        if structure.name == Resolution.demandChanged.name { downstreamReconfigured() }
    }

    override func downstreamAnswered(_ query: AllocationQuery) { demand = Resolution(sufficientFor: query) }

    private func announce(_ timing: StreamTiming) {
        shown.timing = timing
        // In a stream caps go before the segment.
        guard shown.hasCaps else { return }
        shown.run = runs.load(ordering: .acquiring)
        guard let clock = element.clock, let base = element.baseTime else { return }
        let offset = timing.offset(to: clock, baseTime: base)
        let segment = timing.segment.shifted(by: offset)
        shown.follower = ClockFollower(timing, clock: clock, baseTime: base, announced: offset)
        if segment != shown.segment { pushSegment(segment) }
        shown.segment = segment
        announceStatus()
        if reader.withLock({ $0 })?.setLatency(timing.latency) == true {
            StreamReader.latencyChanges.increment(around: element)
            element.postLatencyChanged()
        }
    }

    private func announceStatus() {
        guard shown.isOn != shown.isToldOn, shown.segment != nil else { return }
        shown.isToldOn = shown.isOn
        pushSticky(StreamStatus.event(on: shown.isOn))
    }

    private func tellStalled(_ isStalled: Bool) {
        guard let key = names.withLock({ $0.steady }) else { return }
        element.parent?.post(SessionMessage.stalled(key, isStalled))
    }

    private func pushGap(inPlaceOf buffer: BufferAccess) {
        guard let timestamp = buffer.presentationTimestamp, shown.segment?.runningTime(of: timestamp) != nil else {
            return
        }
        pushGap(at: timestamp, duration: buffer.duration)
    }

    /// While nothing comes: time goes on downstream all the same.
    private func bridgeSilence() {
        isSilent = true
        guard let segment = shown.segment, let now = element.currentRunningTime,
            let timestamp = segment.timestamp(at: now)
        else { return }
        pushGap(at: timestamp, duration: .milliseconds(100))
    }
}
