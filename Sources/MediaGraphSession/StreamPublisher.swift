import GStreamer
import MediaGraphCore
import MediaGraphElements
import Synchronization

/// Publishes one of a session's own streams to the readers in the room and to the user's own preview.
///
/// `@unchecked Sendable`: only the streaming thread, and `show` while no data flows, use `announced`, `tagged`,
/// `hasAlpha`, `voice` and `isRefused`; everything else is constant, atomic or behind a lock.
package final class StreamPublisher: AppSinkDelegate, @unchecked Sendable {
    let kind: StreamKind
    let appSink: AppSink
    /// Counts the buffers that the user has sent.
    let statistics = NodeStatistics()
    private let owner: WeakElement
    private let target = Mutex(Target())
    /// Incremented when the announced format and timing must be compared again: when the target changes, and when
    /// PLAYING begins anew with another base time.
    private let version = Atomic<Int>(0)
    /// Incremented when a stream begins, after which it must get its format and timing again.
    private let beginnings = Atomic<Int>(0)
    /// The `MirrorMode`, which decides whether the frames of the preview and of the room's readers are marked to be
    /// flipped.
    private let mirror = Atomic<Int32>(MirrorMode.none.rawValue)
    private let muting = Mutex(Muting())
    /// What upstream is still to be sent: `keyFrame`, `demand`, both, or nothing (0).
    private let pendingRequests = Atomic<UInt8>(0)
    private static let keyFrame: UInt8 = 1
    private static let demand: UInt8 = 2
    private var announced: Announced?
    /// The orientation from the stream's tags. Readers don't get the tags; each frame is marked instead.
    private var tagged = TaggedOrientation()
    /// Whether the frames have an alpha channel, according to the `alphachannel` upstream.
    private var hasAlpha = false
    /// Whether the user speaks into the microphone, by the sound so far, and the format of the sound.
    private var voice: (activity: VoiceActivity, info: AudioInfo, publication: Publication)?
    /// Whether it has been reported that another user shares.
    private var isRefused = false

    /// Where the stream is published in the room.
    private final class Publication: Sendable {
        let membership: Membership
        let stream: RoomStream
        /// Whether the user speaks into the microphone while it is on.
        private let isSpeaking = Atomic<Bool>(false)
        /// What the room has been told, and whether a thread is telling it.
        private let told = Mutex((isOn: false, isMuted: false, isSpeaking: false, isBusy: false))

        init(_ membership: Membership, _ stream: RoomStream) { (self.membership, self.stream) = (membership, stream) }

        /// The number of buffers at the last check of `endSpeechWithoutSound`.
        private let checked = Atomic<UInt64>(0)

        /// Sets whether the user speaks, for as long as the stream is on. Returns whether that has changed.
        func setSpeaking(_ isSpeaking: Bool) -> Bool {
            self.isSpeaking.exchange(isSpeaking, ordering: .relaxed) != isSpeaking
        }

        /// Ends speech if no buffer has come since the last call.
        func endSpeechWithoutSound() {
            let count = stream.bufferCount
            if checked.exchange(count, ordering: .relaxed) == count, setSpeaking(false) { tellRoom() }
        }

        /// Tells the room how the stream has changed. One thread at a time does this, without holding a lock, and also
        /// reports changes that other threads make meanwhile. So the last report matches the stream's status.
        func tellRoom() {
            var isTelling = false
            while let change = nextChange(isTelling) {
                isTelling = true
                membership.room.streamChanged(stream.key, change)
            }
        }

        private func nextChange(_ isTelling: Bool) -> StreamChange? {
            told.withLock { told in
                guard !told.isBusy || isTelling else { return nil }
                let (isOn, isMuted) = stream.status
                let isSpeaking = isOn && isSpeaking.load(ordering: .relaxed)
                var change: StreamChange?
                if told.isSpeaking && !isSpeaking {
                    (change, told.isSpeaking) = (.speaking(false), false)
                } else if isMuted != told.isMuted {
                    (change, told.isMuted) = (.muted(isMuted), isMuted)
                } else if isOn != told.isOn {
                    (change, told.isOn) = (.status(isOn: isOn), isOn)
                } else if isSpeaking != told.isSpeaking {
                    (change, told.isSpeaking) = (.speaking(true), true)
                }
                told.isBusy = change != nil
                return change
            }
        }
    }

    /// Whether the user has turned the camera or the microphone off.
    private struct Muting: Sendable {
        var isWanted = false
        /// What the streams and the sources upstream have been told.
        var isMuted = false
        /// Whether the user has stopped the preview, whatever `isMuted` is.
        var isPreviewOff = false
        /// Whether there are streams that may not have been told.
        var hasNewStreams = false
        var isBusy = false

        /// Returns whether to mute or unmute each stream next, and whether that is a change for the sources; `nil` if nothing
        /// has to be done.
        mutating func next() -> (isMuted: Bool, mutesPreview: Bool, isChange: Bool)? {
            let isChange = isWanted != isMuted
            isBusy = isChange || hasNewStreams
            (isMuted, hasNewStreams) = (isWanted, false)
            return isBusy ? (isMuted, isMuted || isPreviewOff, isChange) : nil
        }
    }

    private struct Target: Sendable {
        /// Set while the user is in the room.
        var publication: Publication?
        /// The stream of the user's own preview, for cameras. It exists in the room and outside of it.
        var preview: RoomStream?
    }

    /// The format and timing that the streams have been given.
    private struct Announced {
        var room: RoomStream?
        var preview: RoomStream?
        var caps: Caps?
        var capsIdentity: UInt
        var segment: Segment
        var clock: Clock
        var base: ClockTime
        var latency: Duration
        var version: Int
        var beginning: Int

        func includes(_ stream: RoomStream) -> Bool { room === stream || preview === stream }
    }

    init?(_ kind: StreamKind, owner: WeakElement) {
        guard let appSink = AppSink(name: "\(kind.inputPad)_sink") else { return nil }
        self.kind = kind
        self.owner = owner
        self.appSink = appSink
        super.init()
        appSink.setKeepsLastSample(false)
        appSink.setPrerolls(false)
        appSink.setProcessingDeadline(.zero)
        appSink.setSynchronized(false)
        appSink.setDelegate(self)
    }

    /// Publishes the stream in the room, also while data flows. With `nil`, stops publishing; call that after the data
    /// has ended.
    func join(_ membership: Membership?) {
        let new = membership.map { membership in
            Publication(membership, membership.room.stream(StreamKey(user: membership.user, kind: kind)))
        }
        if let new {
            statistics.reset()
            new.stream.remoteStatistics.reset()
            // Before the streaming thread announces the format with the next frame.
            new.stream.begin(self)
            if muting.withLock({ $0.isMuted }) { new.stream.setMuted(true) }
        }
        let left = target.withLock { target in
            defer { target.publication = new }
            return target.publication
        }
        if let left {
            turn(left, on: false)
            left.stream.end()
        }
        beginnings.wrappingAdd(1, ordering: .releasing)
        version.wrappingAdd(1, ordering: .releasing)
        demandChanged()
        if new != nil { followMuting { $0.hasNewStreams = true } }
    }

    /// Sends the stream to a preview; call this before data flows. With `nil`, stops that; call this after the data has
    /// ended.
    func show(in preview: RoomStream?) {
        let old = target.withLock { target in
            defer { target.preview = preview }
            return target.preview
        }
        old?.end()
        if preview == nil { hasAlpha = false }
        preview?.begin(self)
        beginnings.wrappingAdd(1, ordering: .releasing)
        version.wrappingAdd(1, ordering: .releasing)
        demandChanged()
        if preview != nil { followMuting { $0.hasNewStreams = true } }
    }

    /// The number of buffers dropped while another user shared, or because a reader in another process was too slow.
    var losses: UInt64 {
        statistics.dropped.load(ordering: .relaxed)
            + (target.withLock { $0.publication }?.stream.remoteStatistics.dropped.load(ordering: .relaxed) ?? 0)
    }

    /// The stream's counters since the user joined; `nil` while the user isn't in the room.
    var counters: StreamStatistics? {
        guard let stream = target.withLock({ $0.publication })?.stream else { return nil }
        return StreamStatistics(stream.key, .sent, statistics, lost: losses, stream.format)
    }

    /// Mutes the stream if `isMuted` returns true, and otherwise unmutes it. Any thread may call this. One thread at a
    /// time does the work, and also carries out calls that other threads make meanwhile. `isMuted` runs under a lock,
    /// so that of two concurrent calls the later one takes effect.
    ///
    /// Readers are told at once that the stream is off. Sources upstream that can stop are stopped; buffers from other
    /// elements are discarded and counted.
    func mute(_ isMuted: () -> Bool) { followMuting { $0.isWanted = isMuted() } }

    /// Stops the user's own preview if `isOff` returns true, and lets it continue otherwise. Unlike `mute`, doesn't stop the
    /// sources.
    func setPreviewOff(_ isOff: () -> Bool) {
        followMuting { muting in
            let isOff = isOff()
            muting.hasNewStreams = muting.hasNewStreams || muting.isPreviewOff != isOff
            muting.isPreviewOff = isOff
        }
        // A stopped preview needs no resolution.
        demandChanged()
    }

    private func followMuting(_ body: (inout Muting) -> Void) {
        let isFirst = muting.withLock { muting in
            body(&muting)
            defer { muting.isBusy = true }
            return !muting.isBusy
        }
        guard isFirst else { return }
        while let (isMuted, mutesPreview, isChange) = muting.withLock({ $0.next() }) {
            let (publication, preview) = target.withLock { ($0.publication, $0.preview) }
            preview?.setMuted(mutesPreview)
            publication?.stream.setMuted(isMuted)
            // The next frame turns the streams on again.
            version.wrappingAdd(1, ordering: .releasing)
            publication?.tellRoom()
            if isChange { askSources(toSend: !isMuted) }
        }
    }

    /// Keeps the sources upstream from starting if the stream is muted. Called before they go to PLAYING.
    func willPlay() { if muting.withLock({ $0.isMuted }) { askSources(toSend: false) } }

    /// Asks the sources upstream to stop sending, or to start again. A source that also feeds other elements goes on.
    private func askSources(toSend isOn: Bool) {
        // A source that was stopped before it got a second reader must start again too.
        guard isOn || owner.element?.staticPad(kind.inputPad)?.peer?.parent?.alsoFeedsOthers == false else { return }
        appSink.staticPad("sink")?.sendUpstream(SendRequest.event(on: isOn))
    }

    /// Sets the mirror mode.
    func setMirrorMode(_ mode: MirrorMode) { mirror.store(mode.rawValue, ordering: .relaxed) }

    /// Makes the streaming thread check, before the next frame, whether the streams have to be told of a change.
    func announcementMayHaveChanged() { version.wrappingAdd(1, ordering: .releasing) }

    /// Asks upstream for a key frame. The streaming thread does that before the next frame, so that no reader's thread
    /// ever enters the sender's elements.
    func requestKeyFrame() { pendingRequests.bitwiseOr(Self.keyFrame, ordering: .relaxed) }

    /// Tells upstream, before the next frame, that the readers or the session want another size.
    func demandChanged() { pendingRequests.bitwiseOr(Self.demand, ordering: .relaxed) }

    /// The resolution that is sufficient for all readers in the room and the preview; `nil` if there are none.
    var readersDemand: Resolution? {
        let (publication, preview) = target.withLock { ($0.publication, $0.preview) }
        let shownDemand = muting.withLock({ $0.isPreviewOff }) ? nil : preview?.knownDemand
        return Resolution.greatest([publication?.stream.knownDemand, shownDemand].compactMap(\.self))
    }

    /// Posts a warning at the session's element.
    func warn(_ text: String) { owner.postWarning(.wrongFormat, "\(owner.name): \(kind.inputPad) \(text)") }

    // MARK: The streaming thread

    package override func received(_ sample: borrowing Sample) -> FlowReturn {
        guard let buffer = sample.buffer else { return .ok }
        if pendingRequests.load(ordering: .relaxed) != 0 { sendRequests(before: buffer) }
        let version = version.load(ordering: .acquiring)
        guard let announced, announced.version == version, sample.hasCaps(at: announced.capsIdentity),
            sample.has(announced.segment)
        else { return announce(sample, buffer, version) }
        send(buffer, announced)
        return .ok
    }

    private func send(_ buffer: BufferAccess, _ announced: Announced) {
        let mirror = MirrorMode(rawValue: mirror.load(ordering: .relaxed)) ?? MirrorMode.none
        let isPreviewed = announced.preview.map { send(buffer, to: $0, isMirrored: mirror.mirrorsPreview) }
        guard let room = announced.room else {
            if isPreviewed == false, muting.withLock({ $0.isMuted }) { statistics.countMuted() }
            return
        }
        if send(buffer, to: room, isMirrored: mirror.mirrorsPublished) {
            statistics.countFrame(bytes: buffer.size)
            if voice != nil { listen(to: buffer) }
        } else {
            statistics.countMuted()
        }
    }

    /// Measures a block of the microphone's sound, and tells the room if the user has begun or stopped speaking.
    private func listen(to buffer: BufferAccess) {
        guard let (_, info, publication) = voice, let meanSquare = info.meanSquare(of: buffer) else { return }
        let duration = info.durationNanoseconds(ofFrames: buffer.size / info.bytesPerFrame)
        voice?.activity.add(meanSquare: meanSquare, nanoseconds: duration)
        if publication.setSpeaking(voice?.activity.isSpeaking == true) { publication.tellRoom() }
    }

    /// Ends speech if the microphone has sent nothing since the last call. Called once a second.
    func endSpeechWithoutSound() {
        if kind == .microphone { target.withLock { $0.publication }?.endSpeechWithoutSound() }
    }

    /// Sends a buffer to one stream. If its frames need marks that the buffer lacks, a second buffer that shares the
    /// memory carries them. Returns false if the stream is muted.
    private func send(_ buffer: BufferAccess, to stream: RoomStream, isMirrored: Bool) -> Bool {
        guard isMirrored || tagged != TaggedOrientation(), stream.demand != nil else { return stream.send(buffer) }
        let orientation = tagged.orientation(of: buffer)
        guard isMirrored || orientation != VideoOrientation(of: buffer) ?? .upright else {
            return stream.send(buffer)
        }
        let marked = buffer.alias
        orientation.mark(marked.access)
        let mirror = isMirrored ? Flip.mirroring(orientation) : .none
        Flip.meta.set((Flip(of: buffer) ^ mirror).rawValue, on: marked.access)
        return stream.send(marked.access)
    }

    private func sendRequests(before buffer: BufferAccess) {
        let requests = pendingRequests.exchange(0, ordering: .relaxed)
        let pad = appSink.staticPad("sink")
        if requests & Self.keyFrame != 0, !buffer.isKeyframe { pad?.requestKeyFrame() }
        if requests & Self.demand != 0, kind.isCamera { pad?.sendUpstream(Resolution.demandChanged) }
    }

    /// Gives the streams the format, timing and alpha status that they don't know yet, and then sends the buffer.
    private func announce(_ sample: borrowing Sample, _ buffer: BufferAccess, _ version: Int) -> FlowReturn {
        let beginning = beginnings.load(ordering: .acquiring)
        let (publication, preview) = target.withLock { ($0.publication, $0.preview) }
        guard publication != nil || preview != nil, let caps = sample.caps else { return .ok }
        guard let segment = sample.segment, let clock = appSink.clock, let base = appSink.baseTime else {
            owner.postError(
                .processing,
                "\(owner.name): \(kind.inputPad) has no timestamps; a session needs a stream with segments in time format"
            )
            return .error
        }
        if let publication, !mayBegin(publication) {
            statistics.countDrop()
            return .ok
        }
        let latency = appSink.staticPad("sink")?.upstreamLatency()?.minimum ?? .zero
        let new = Announced(
            room: publication?.stream, preview: preview, caps: caps, capsIdentity: caps.identity, segment: segment,
            clock: clock, base: base, latency: latency, version: version, beginning: beginning)
        for stream in [new.preview, new.room].compactMap({ $0 }) {
            let known = announced.flatMap { $0.includes(stream) && $0.beginning == beginning ? $0 : nil }
            if !(known.map { sample.hasCaps(at: $0.capsIdentity) } ?? false) { stream.setCaps(caps) }
            if known?.segment != segment || known?.base != base || known?.clock != clock || known?.latency != latency {
                stream.setTiming(StreamTiming(segment: segment, clock: clock, baseTime: base, latency: latency))
            }
        }
        announced = new
        _ = preview?.setAlpha(hasAlpha)
        if let publication, publication.stream.setAlpha(hasAlpha) {
            publication.membership.room.streamChanged(publication.stream.key, .alpha(isOn: hasAlpha))
        }
        _ = preview?.setStatus(true)
        if let publication, kind == .microphone { beginListening(publication, caps) }
        if let publication { turn(publication, on: true) }
        send(buffer, new)
        return .ok
    }

    /// Begins to measure sound in this format. A user whose microphone was off doesn't speak at first.
    private func beginListening(_ publication: Publication, _ caps: Caps) {
        guard let info = AudioInfo(caps) else { return voice = nil }
        let isContinuing = voice?.publication === publication && publication.stream.status.isOn
        voice = ((isContinuing ? voice?.activity : nil) ?? VoiceActivity(), info, publication)
        if !isContinuing { _ = publication.setSpeaking(false) }
    }

    /// Returns whether the stream may be sent. A share may not be sent while another user shares. That is reported only
    /// once, but asked again for each buffer.
    private func mayBegin(_ publication: Publication) -> Bool {
        let key = publication.stream.key
        do throws(MediaGraphError) {
            guard try publication.membership.room.begin(key) else { return false }
            isRefused = false
            return true
        } catch {
            if !isRefused {
                owner.postWarning(
                    .busy,
                    "\(owner.name): \(kind.inputPad) is on hold: \(error); it starts when that share ends"
                )
                owner.post(SessionMessage.shareRefused(key, error))
            }
            isRefused = true
            return false
        }
    }

    package override func received(_ event: StreamEvent) {
        switch event {
        case .caps:
            // A file must be paced by the clock; a live source already is.
            if let isLive = appSink.staticPad("sink")?.upstreamLatency()?.isLive { appSink.setSynchronized(!isLive) }
        case .streamStart: tagged = TaggedOrientation()
        case .orientation(let tag): tagged.add(tag, at: appSink.staticPad("sink"))
        case .custom(let structure) where structure.name == StreamStatus.eventName:
            // "On" is announced with the first frame. Muting has turned the streams off, and they may be on again by the
            // time at which the source's "off" arrives.
            if structure["on"] == false, !StreamStatus.isRequested(structure) { reachedEndOfStream() }
        case .custom(let structure) where structure.name == AlphaChannelMessage.name:
            // Announced with the next frame, after its format.
            hasAlpha = structure["enabled"] ?? false
            announcementMayHaveChanged()
        default: break
        }
    }

    package override func reachedEndOfStream() {
        let (publication, preview) = target.withLock { ($0.publication, $0.preview) }
        _ = preview?.setStatus(false)
        if let publication { turn(publication, on: false) }
        announced = nil
    }

    /// Sets the status of the published stream, and tells the room if it has changed.
    private func turn(_ publication: Publication, on: Bool) {
        if publication.stream.setStatus(on) { publication.tellRoom() }
    }
}
