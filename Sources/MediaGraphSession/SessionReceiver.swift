import GStreamer
import MediaGraphCore
import MediaGraphDescription
import MediaGraphElements
import Synchronization

/// A live source that outputs a user's stream at one of a session's pads, by reading a `RoomStream`.
///
/// `mediasession` makes this element; it has no factory. It keeps running while its user leaves and comes back, and
/// never ends by itself. Frames are scaled down to the resolution that is sufficient for downstream.
///
/// `@unchecked Sendable`: only the streaming thread uses `shown`, `isSilent`, `hasAskedForForm` and `demand`; everything else is constant,
/// atomic or behind a lock.
final class SessionReceiver: PushSource, @unchecked Sendable {
    /// The stream as downstream knows it.
    private struct Shown {
        var hasBegun = false
        var format: StreamFormat?
        /// Whether downstream can't accept the format, or no reader could show it.
        var isRefused = false
        /// Whether downstream has accepted caps.
        var hasCaps = false
        /// The resolution that is sufficient for downstream.
        var demand = Resolution.native
        /// Scales frames down if they are higher than `demand`.
        var scaler: FrameScaler?
        var timing: StreamTiming?
        /// The segment in this graph and run that corresponds to `timing`.
        var segment: Segment?
        /// Corrects timestamps if the publisher has another clock.
        var follower: ClockFollower?
        /// The value of `runs` when the timing was announced; 0 makes the next frame announce it again.
        var run = 0
        var isOn = false
        /// The status that downstream has been told.
        var isToldOn = false
        /// Whether downstream has been told that the frames have an alpha channel.
        var isToldAlpha = false
        var order = FrameOrder()
        /// Whether a frame has been sent while the pad was linked.
        var hasDelivered = false
        /// Whether downstream has asked for a key frame, and none has arrived since.
        var wantsKeyFrame = false
        /// The format and the problem of which the user has been warned.
        var refused: StreamFormat?
        var problem: String?
    }

    /// The names that messages use.
    private struct Names: Sendable {
        var pad: String
        var sender: String
        /// The stream to report when it stalls; `nil` for a share, which sends only when something changes.
        var steady: StreamKey?
    }

    /// How long a stream that is on must be silent before GAP events are sent.
    private static let silenceBeforeGapsNanoseconds: UInt64 = 2_000_000_000
    /// The interval between GAP events.
    private static let gapIntervalNanoseconds: UInt64 = 100_000_000

    private let reader = Mutex<StreamReader?>(nil)
    /// Called with caps that downstream doesn't accept. If it returns true, there is no warning.
    private let formatRefused = Mutex<(@Sendable (Caps) -> Bool)?>(nil)
    private let names = Mutex(Names(pad: "", sender: ""))
    private var shown = Shown()
    /// Whether nothing has arrived for `silenceBeforeGapsNanoseconds`.
    private var isSilent = false
    /// The running time from which on downstream wants a key frame, in nanoseconds; `.max` if it doesn't want one.
    private let keyFrameTime = Atomic<UInt64>(.max)
    private var hasAskedForForm = false
    /// Incremented when the graph goes to PLAYING, which changes its base time.
    private let runs = Atomic<Int>(0)
    /// The sufficient resolution, from downstream's last answer to an ALLOCATION query.
    private var demand = Resolution.native

    override class var declaration: ElementDeclaration {
        ElementDeclaration(
            factoryName: "mediasessionsrc", typeName: "GstMediaSessionSrc", longName: "Media session's stream",
            classification: "Source", summary: "Outputs a user's stream at a pad of mediasession",
            author: NodeDefinition.author, padTemplates: [PadTemplate("src", .source, caps: "ANY")],
            properties: [
                .readOnly(
                    "stats", of: SessionReceiver.self, default: NodeStatistics.nothing, "The stream's counters"
                ) {
                    $0.reader.withLock { $0 }?.statistics.structure ?? NodeStatistics.nothing
                }
            ],
            abiVersion: NodeDefinition.abiVersion)
    }

    /// Makes the source behind the session's pad for `key`; `nil` if GStreamer can't make the element.
    static func make(
        _ key: OutputKey, session: String, clock: TimerClock = .system,
        formatRefused: (@Sendable (Caps) -> Bool)? = nil
    ) -> (element: Element, reader: StreamReader)? {
        guard let element = try? ElementClass.make(SessionReceiver.self) else { return nil }
        let receiver = ElementClass.implementation(of: element.element, as: SessionReceiver.self)
        let reader = StreamReader(bound: key.bound, clock: clock)
        receiver.reader.withLock { $0 = reader }
        receiver.formatRefused.withLock { $0 = formatRefused }
        receiver.names.withLock { $0 = Names(pad: "\(session).\(key.padName)", sender: key.sender, steady: key.steady) }
        return (element, reader)
    }

    override func start() -> Bool {
        reader.withLock { $0 }?.restart()
        return true
    }

    override func stop() -> Bool {
        (shown, isSilent, hasAskedForForm) = (Shown(), false, false)
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

    override var latency: (isLive: Bool, minimum: Duration, maximum: Duration?) {
        (true, reader.withLock { $0 }?.latency ?? .zero, nil)
    }

    override func create(_ buffer: inout Buffer?) -> FlowReturn {
        guard let reader = reader.withLock({ $0 }) else { return .endOfStream }
        if !hasAskedForForm { askForForm(reader) }
        while true {
            // GAP events are due every `gapInterval` while the stream is off or its sender hangs.
            let timeout = isSilent || !shown.isOn ? Self.gapIntervalNanoseconds : Self.silenceBeforeGapsNanoseconds
            switch reader.next(timeoutNanoseconds: timeout) {
            case .buffer(let next):
                isSilent = false
                if shown.run != runs.load(ordering: .acquiring), let timing = shown.timing { announce(timing) }
                guard let segment = shown.segment, isInTime(next.buffer.access, segment), !shown.isRefused else {
                    if shown.isRefused { pushGap(inPlaceOf: next.buffer.access) }
                    reader.drop(next.buffer)
                    continue
                }
                let size = next.byteCount
                if let scaler = shown.scaler {
                    guard let scaled = scaler.scaled(next) else {
                        reader.drop(next.buffer)
                        continue
                    }
                    buffer = placed(scaled.buffer.retained, next.number)
                    _ = next.buffer.take()
                } else {
                    buffer = placed(next.buffer.take(), next.number)
                }
                reader.statistics.countFrame(bytes: size)
                if !shown.hasDelivered, sourcePad.neighbor != nil { shown.hasDelivered = true }
                return .ok
            case .signal(let signal):
                show(signal)
                tellDemand(reader)
                if case .status(true) = signal { reader.requestLatest() }
            case .negotiate:
                if !askForForm(reader) { showAnew() }
                tellDemand(reader)
                if !shown.hasDelivered { reader.requestLatest() }
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

    /// Reads the stream in the form that downstream takes: as a transport receives it, or decoded. Returns whether that
    /// changes the form; then its format follows.
    @discardableResult
    private func askForForm(_ reader: StreamReader) -> Bool {
        hasAskedForForm = true
        return reader.setPrefersEncoded(sourcePad.peerCaps().map(StreamFormat.mustBeEncoded) ?? false)
    }

    /// Requests a key frame if downstream wants one from this frame on, or still waits for one.
    private func askForKeyFrame(at buffer: BufferAccess) {
        let isDue = isKeyFrameDue(buffer)
        shown.wantsKeyFrame = !buffer.isKeyframe && (shown.wantsKeyFrame || isDue)
        if shown.wantsKeyFrame { reader.withLock { $0 }?.requestKeyFrame() }
    }

    /// Whether downstream's request for a key frame is due with this frame. Clears the request if so.
    private func isKeyFrameDue(_ buffer: BufferAccess) -> Bool {
        let wanted = keyFrameTime.load(ordering: .relaxed)
        guard wanted < .max, let timestamp = buffer.presentationTimestamp,
            let time = shown.segment?.runningTime(of: timestamp), time.nanoseconds >= wanted
        else { return false }
        // If downstream has made another request in the meantime, that one stays.
        return keyFrameTime.compareExchange(expected: wanted, desired: .max, ordering: .relaxed).exchanged
    }

    /// Remembers downstream's request until frames of that time arrive. It can't be forwarded at once: the time is
    /// different in the publisher's graph, and its encoder may be far away.
    override func keyFrameRequested(at time: ClockTime?) -> Bool {
        keyFrameTime.store(time?.nanoseconds ?? 0, ordering: .relaxed)
        if time == nil { reader.withLock { $0 }?.requestKeyFrame() }
        return true
    }

    /// Returns the buffer with timestamps of this graph's clock, and marked as discontinuous if frames before it were
    /// lost, which a decoder has to know.
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

    /// Whether a buffer has a running time in this graph. A raw frame captured before this graph began has none.
    /// Encoded frames always pass, because later frames may depend on them; their decoder drops what is outside the
    /// segment.
    private func isInTime(_ buffer: BufferAccess, _ segment: Segment) -> Bool {
        guard let timestamp = buffer.presentationTimestamp, shown.format?.isEncoded != true else { return true }
        return segment.runningTime(of: timestamp) != nil
    }

    /// Passes a change of the stream on to downstream.
    private func show(_ signal: StreamReader.Signal) {
        switch signal {
        case .begin:
            // The base class sends the first STREAM_START of a run.
            if shown.hasBegun { pushStreamStart() }
            shown = Shown(hasBegun: true, isToldAlpha: shown.isToldAlpha)
            // Otherwise the pad would keep the last event for elements that are linked later.
            announceAlpha(false)
        case .format(let format): announce(format)
        case .timing(let timing): announce(timing)
        case .status(let isOn):
            shown.isOn = isOn
            announceStatus()
        case .alpha(let isOn): announceAlpha(isOn)
        case .refused(let problem): warn(of: problem)
        }
    }

    /// Warns that the stream can't be shown, once for each problem until the stream begins anew.
    private func warn(of problem: String) {
        guard shown.problem != problem else { return }
        shown.problem = problem
        let names = names.withLock { $0 }
        postWarning(.wrongFormat, "\(names.pad) drops what \(names.sender) sends: \(problem)")
    }

    /// Sends the stream's caps downstream. If downstream can't accept them, warns instead; the graph continues without
    /// the stream.
    private func announce(_ format: StreamFormat) {
        shown.format = format
        shown.scaler = nil
        let taken = sourcePad.peerCaps()
        // The CAPS query too, because bins answer ACCEPT_CAPS by their templates, which allow more than their current
        // elements do.
        let refusal = taken.flatMap { downstreamAccepts(format.caps) && $0.canIntersect(format.caps) ? nil : $0 }
        shown.isRefused = refusal != nil
        if let problem = format.problem {
            shown.isRefused = true
            return warn(of: problem)
        }
        if let refusal { return warn(of: format, taken: refusal) }
        setCaps(format.caps)
        shown.hasCaps = true
        // Only now, because filters forward the ALLOCATION query once they know a format.
        negotiate()
        shown.demand = demand
        guard let scaler = format.scaler(demand), downstreamAccepts(scaler.caps) else { return }
        setCaps(scaler.caps)
        // If a scaler downstream would have to enlarge the smaller frames again, downstream answers the new caps with
        // another demand.
        negotiate()
        guard demand == shown.demand else {
            shown.demand = .native
            return setCaps(format.caps)
        }
        shown.scaler = scaler
    }

    /// Tells the sender which resolution downstream needs, or that it can't show the stream at all. Does nothing before
    /// the pad is linked: without an answer, the demand would be native. When the pad is linked, the receiver negotiates
    /// again.
    private func tellDemand(_ reader: StreamReader) {
        guard shown.format != nil, sourcePad.neighbor != nil else { return }
        reader.setDemand(shown.isRefused ? nil : shown.demand)
    }

    /// Warns once when downstream rejects a format that its answers to queries promised to take, as some converters do.
    private func downstreamRefused() {
        guard let format = shown.format, !shown.isRefused else { return }
        shown.isRefused = true
        // Forget the segment: it doesn't arrive downstream behind refused caps. A GAP event would, and a sink would
        // wait for its time in the wrong segment.
        (shown.hasCaps, shown.segment, shown.run) = (false, nil, 0)
        warn(of: format.refusal)
    }

    /// Warns once for each format that downstream doesn't accept.
    private func warn(of format: StreamFormat, taken: Caps) {
        guard shown.refused !== format else { return }
        shown.refused = format
        if formatRefused.withLock({ $0 })?(format.caps) == true { return }
        let names = names.withLock { $0 }
        let difference = FormatConflict.difference(
            format.caps, taken, "\(names.sender) sends", "the linked element accepts")
        let remedy =
            !format.isEncoded && taken.canIntersect(StreamFormat.encoded)
            ? "replace the decoder with decodebin, or set the rawdatapipe's buffer-type to raw"
            : "insert \(format.converters) between them\(format.isEncoded ? ", or in Swift set SessionContext.videoDecoder" : "")"
        postWarning(
            .notNegotiated, "\(names.pad) can't deliver \(names.sender)'s stream: \(difference). To fix it, \(remedy)")
    }

    /// Announces the format again, because downstream has changed.
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

    override func latencyDecided(_ latency: Duration) { reader.withLock { $0 }?.setGraphLatency(latency) }

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
        guard structure.name == Resolution.demandChanged.name else { return }
        // For a new reader behind the pad, or in another size.
        reader.withLock { $0 }?.requestLatestWhenIdle()
        downstreamReconfigured()
    }

    override func willDecideAllocation(_ query: AllocationQuery) { demand = Resolution(sufficientFor: query) }

    /// Sends the segment that corresponds to the stream's timing, and posts the stream's latency if it has changed.
    private func announce(_ timing: StreamTiming) {
        shown.timing = timing
        // Caps must precede the segment.
        guard shown.hasCaps else { return }
        shown.run = runs.load(ordering: .acquiring)
        guard let clock = element.clock, let base = element.baseTime else { return }
        let offset = timing.offset(to: clock, baseTime: base)
        let segment = timing.segment.shifted(byNanoseconds: offset)
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

    /// Tells downstream that the frames that follow have an alpha channel, or no longer do. Needs no segment, because
    /// it must also arrive where nothing of the stream can be shown.
    private func announceAlpha(_ isOn: Bool) {
        guard shown.isToldAlpha != isOn else { return }
        shown.isToldAlpha = isOn
        pushSticky(AlphaChannelMessage.structure(isOn))
    }

    /// Posts that the stream has stalled or resumed.
    private func tellStalled(_ isStalled: Bool) {
        guard let key = names.withLock({ $0.steady }) else { return }
        element.parent?.post(SessionMessage.stalled(key, isStalled))
    }

    /// Sends a GAP event for the time of a buffer that isn't shown.
    private func pushGap(inPlaceOf buffer: BufferAccess) {
        guard let timestamp = buffer.presentationTimestamp, shown.segment?.runningTime(of: timestamp) != nil else {
            return
        }
        pushGap(at: timestamp, duration: buffer.duration)
    }

    /// Whether downstream has taken the caps. GStreamer reports success for a sticky event that downstream refuses, and
    /// keeps the segment back until the caps are taken. A GAP event would overtake both, and a sink would wait for its time
    /// in the wrong segment. Looks at the next element only: a queue takes any caps, and what follows it isn't examined.
    private var capsHaveArrived: Bool {
        sourcePad.neighbor.map { $0.currentCaps == sourcePad.currentCaps } ?? false
    }

    /// Sends a GAP event, so that time advances downstream although nothing arrives.
    private func bridgeSilence() {
        isSilent = true
        // A parser has no caps before the first frame, and yet forwards the segment when a GAP event comes.
        guard shown.format?.isEncoded != true || shown.hasDelivered else { return }
        guard let segment = shown.segment, capsHaveArrived, let now = element.currentRunningTime,
            let timestamp = segment.timestamp(at: now)
        else { return }
        pushGap(at: timestamp, duration: .milliseconds(100))
    }
}
