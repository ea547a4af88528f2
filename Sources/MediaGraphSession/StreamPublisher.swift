import GStreamer
import MediaGraphCore
import MediaGraphElements
import Synchronization

/// Publishes one of a session's own streams to the readers in the room and to the user's own preview.
///
/// `@unchecked Sendable`: only the streaming thread uses `announced`, `tagged` and `isRefused`; everything else is
/// constant, atomic or behind a lock.
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
    /// Whether a reader needs a key frame.
    private let isKeyFrameWanted = Atomic<Bool>(false)
    private var announced: Announced?
    /// The orientation from the stream's tags. Readers don't get the tags; each frame is marked instead.
    private var tagged = TaggedOrientation()
    /// Whether it has been reported that another user shares.
    private var isRefused = false

    /// Where the stream is published in the room.
    private struct Publication: Sendable {
        var membership: Membership
        var stream: RoomStream
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
            Publication(
                membership: membership,
                stream: membership.room.stream(StreamKey(user: membership.user, kind: kind)))
        }
        if let new {
            statistics.reset()
            new.stream.remoteStatistics.reset()
            // Before the streaming thread announces the format with the next frame.
            new.stream.begin(self)
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
    }

    /// Sends the stream to a preview; call this before data flows. With `nil`, stops that; call this after the data has
    /// ended.
    func show(in preview: RoomStream?) {
        let old = target.withLock { target in
            defer { target.preview = preview }
            return target.preview
        }
        old?.end()
        preview?.begin(self)
        beginnings.wrappingAdd(1, ordering: .releasing)
        version.wrappingAdd(1, ordering: .releasing)
    }

    /// The number of buffers dropped while another user shared, or because a reader in another process was too slow.
    var losses: UInt64 {
        statistics.dropped.load(ordering: .relaxed)
            + (target.withLock { $0.publication }?.stream.remoteStatistics.dropped.load(ordering: .relaxed) ?? 0)
    }

    /// Sets the mirror mode. Ignored for streams other than the main camera.
    func mirrors(_ mode: MirrorMode) {
        if kind == .camera { mirror.store(mode.rawValue, ordering: .relaxed) }
    }

    /// Makes the streaming thread compare the timing again before the next frame.
    func timingMayHaveChanged() { version.wrappingAdd(1, ordering: .releasing) }

    /// Asks upstream for a key frame. The streaming thread does that before the next frame, so that no reader's thread
    /// ever enters the sender's elements.
    func requestKeyFrame() { isKeyFrameWanted.store(true, ordering: .relaxed) }

    /// Posts a warning at the session's element.
    func warn(_ text: String) { owner.postWarning(.wrongFormat, "\(owner.name): \(kind.inputPad) \(text)") }

    // MARK: The streaming thread

    package override func received(_ sample: borrowing Sample) -> FlowReturn {
        guard let buffer = sample.buffer else { return .ok }
        if isKeyFrameWanted.load(ordering: .relaxed) { askForKeyFrame(before: buffer) }
        let version = version.load(ordering: .acquiring)
        guard let announced, announced.version == version, sample.hasCaps(at: announced.capsIdentity),
            sample.has(announced.segment)
        else { return announce(sample, buffer, version) }
        send(buffer, announced)
        return .ok
    }

    private func send(_ buffer: BufferAccess, _ announced: Announced) {
        let mirror = MirrorMode(rawValue: mirror.load(ordering: .relaxed)) ?? MirrorMode.none
        if let preview = announced.preview { send(buffer, to: preview, isMirrored: mirror.mirrorsPreview) }
        guard let room = announced.room else { return }
        statistics.countFrame()
        send(buffer, to: room, isMirrored: mirror.mirrorsPublished)
    }

    /// Sends a buffer to one stream. If its frames need marks that the buffer lacks, a second buffer that shares the
    /// memory carries them.
    private func send(_ buffer: BufferAccess, to stream: RoomStream, isMirrored: Bool) {
        guard isMirrored || tagged != TaggedOrientation(), stream.demand != nil else { return stream.send(buffer) }
        let orientation = tagged.orientation(of: buffer)
        guard isMirrored || orientation != VideoOrientation(of: buffer) ?? .upright else {
            return stream.send(buffer)
        }
        let marked = buffer.alias
        orientation.mark(marked.access)
        let mirror = isMirrored ? Flip.mirroring(orientation) : .none
        Flip.meta.set((Flip(of: buffer) ^ mirror).rawValue, on: marked.access)
        stream.send(marked.access)
    }

    private func askForKeyFrame(before buffer: BufferAccess) {
        isKeyFrameWanted.store(false, ordering: .relaxed)
        if !buffer.isKeyframe { appSink.staticPad("sink")?.requestKeyFrame() }
    }

    /// Gives the streams the format and timing that they don't know yet, and then sends the buffer.
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
        _ = preview?.setStatus(true)
        if let publication { turn(publication, on: true) }
        send(buffer, new)
        return .ok
    }

    /// Returns whether the stream may be sent. A share may not be sent while another user shares. That is reported only
    /// once, but asked again for each buffer.
    private func mayBegin(_ publication: Publication) -> Bool {
        let key = publication.stream.key
        do throws(MediaGraphError) {
            try publication.membership.room.begin(key)
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
            // "On" is announced with the first frame.
            if structure["on"] == false { reachedEndOfStream() }
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
        guard publication.stream.setStatus(on) else { return }
        publication.membership.room.streamChanged(publication.stream.key, isOn: on)
    }
}
