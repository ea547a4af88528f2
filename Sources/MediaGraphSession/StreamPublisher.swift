import GStreamer
import MediaGraphCore
import MediaGraphElements
import Synchronization

/// What a session does with one of its user's own streams: hands it on to those who read it, in the room and in the user's
/// own preview.
///
/// `@unchecked Sendable`: `announced`, `tagged` and `isRefused` belong to the streaming thread; the rest is constant or atomic.
package final class StreamPublisher: AppSinkDelegate, @unchecked Sendable {
    let kind: StreamKind
    let appSink: AppSink
    /// What the user has sent.
    let statistics = NodeStatistics()
    private let owner: WeakElement
    private let target = Mutex(Target())
    /// Counts what makes an announcement old: another target, and PLAYING that begins anew, with another base time.
    private let version = Atomic<Int>(0)
    /// Counts the streams that have begun: one that begins anew knows nothing of what it was told before.
    private let beginnings = Atomic<Int>(0)
    /// `MirrorMode`: which frames are to be flipped, of the preview and of those that the others get.
    private let mirror = Atomic<Int32>(MirrorMode.none.rawValue)
    /// By readers that can show nothing before the next.
    private let isKeyFrameWanted = Atomic<Bool>(false)
    private var announced: Announced?
    /// What the stream's tags say, which readers aren't sent: each frame says it.
    private var tagged = TaggedOrientation()
    /// It has been said that another shares.
    private var isRefused = false

    /// Where the stream is published.
    private struct Place: Sendable {
        var membership: Membership
        var stream: RoomStream
    }

    private struct Target: Sendable {
        /// Once the user is in the room.
        var place: Place?
        /// What the user sees of it, in the room or not; of a camera.
        var preview: RoomStream?
    }

    private struct Announced {
        var room: RoomStream?
        var preview: RoomStream?
        var caps: Caps?
        var capsIdentity: UInt
        var segment: Segment
        var clock: Clock
        var base: ClockTime
        var latency: ClockTime
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
        appSink.keepsLastSample(false)
        appSink.setPrerolls(false)
        appSink.setProcessingDeadline(.zero)
        appSink.setSynchronized(false)
        appSink.setDelegate(self)
    }

    /// Into the room: also while data flows. With `nil` out of it, after data has ended.
    func join(_ membership: Membership?) {
        let new = membership.map { membership in
            Place(
                membership: membership,
                stream: membership.room.stream(StreamKey(user: membership.user, kind: kind)))
        }
        if let new {
            statistics.reset()
            // Before the next frame says what it is.
            new.stream.begin(self)
        }
        let left = target.withLock { target in
            defer { target.place = new }
            return target.place
        }
        if let left {
            turn(left, on: false)
            left.stream.end()
        }
        beginnings.wrappingAdd(1, ordering: .releasing)
        version.wrappingAdd(1, ordering: .releasing)
    }

    /// Shows it in a preview: before data flows, and with `nil` no longer, after it has ended.
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

    /// Buffers that came while another shared, or that other processes' readers were too slow for.
    var losses: UInt64 {
        statistics.dropped.load(ordering: .relaxed)
            + (target.withLock { $0.place }?.stream.remoteStatistics.dropped.load(ordering: .relaxed) ?? 0)
    }

    /// Of the main camera; other streams are seen as they are.
    func mirrors(_ mode: MirrorMode) {
        if kind == .camera { mirror.store(mode.rawValue, ordering: .relaxed) }
    }

    /// Other times may hold from the next frame on.
    func timingMayHaveChanged() { version.wrappingAdd(1, ordering: .releasing) }

    /// Before the next frame, on its thread: readers get no hold of what is upstream.
    func requestKeyFrame() { isKeyFrameWanted.store(true, ordering: .relaxed) }

    /// The session's user hears of a trouble.
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
        if let preview = announced.preview { send(buffer, to: preview, mirror.preview) }
        guard let room = announced.room else { return }
        statistics.countFrame()
        send(buffer, to: room, mirror.published)
    }

    /// What one stream's frames say and the other's don't is said by another buffer on the same memory.
    private func send(_ buffer: BufferAccess, to stream: RoomStream, _ flip: Flip) {
        guard flip != .none || tagged != TaggedOrientation(), stream.demand != nil else { return stream.send(buffer) }
        let orientation = tagged.orientation(of: buffer)
        guard flip != .none || orientation != VideoOrientation(of: buffer) ?? .upright else {
            return stream.send(buffer)
        }
        let marked = buffer.alias
        orientation.mark(marked.access)
        // Mirrored are left and right of the picture as it stands upright.
        Flip.meta.set((Flip(of: buffer) ^ flip.turned(by: orientation)).rawValue, on: marked.access)
        stream.send(marked.access)
    }

    private func askForKeyFrame(before buffer: BufferAccess) {
        isKeyFrameWanted.store(false, ordering: .relaxed)
        if !buffer.isKeyframe { appSink.staticPad("sink")?.requestKeyFrame() }
    }

    /// What is new goes ahead of the buffer.
    private func announce(_ sample: borrowing Sample, _ buffer: BufferAccess, _ version: Int) -> FlowReturn {
        let beginning = beginnings.load(ordering: .acquiring)
        let (place, preview) = target.withLock { ($0.place, $0.preview) }
        guard place != nil || preview != nil, let caps = sample.caps else { return .ok }
        guard let segment = sample.segment, let clock = appSink.clock, let base = appSink.baseTime else {
            owner.postError(
                .processing, "\(owner.name): \(kind.inputPad) has no times: a session takes streams in time format only"
            )
            return .error
        }
        if let place, !mayBegin(place) {
            statistics.countDrop()
            return .ok
        }
        let latency = appSink.staticPad("sink")?.upstreamLatency()?.minimum ?? .zero
        let new = Announced(
            room: place?.stream, preview: preview, caps: caps, capsIdentity: caps.identity, segment: segment,
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
        if let place { turn(place, on: true) }
        send(buffer, new)
        return .ok
    }

    /// Not while another user shares: that is said once, and tried again with those that come.
    private func mayBegin(_ place: Place) -> Bool {
        let key = place.stream.key
        do throws(MediaGraphError) {
            try place.membership.room.begin(key)
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
            // A file is sent at the pace at which it would be shown; what is live has its pace.
            if let isLive = appSink.staticPad("sink")?.upstreamLatency()?.isLive { appSink.setSynchronized(!isLive) }
        case .streamStart: tagged = TaggedOrientation()
        case .orientation(let tag): tagged.add(tag, at: appSink.staticPad("sink"))
        case .custom(let structure) where structure.name == StreamStatus.eventName:
            // On is said with the first frame.
            if structure["on"] == false { reachedEndOfStream() }
        default: break
        }
    }

    package override func reachedEndOfStream() {
        let (place, preview) = target.withLock { ($0.place, $0.preview) }
        _ = preview?.setStatus(false)
        if let place { turn(place, on: false) }
        announced = nil
    }

    private func turn(_ place: Place, on: Bool) {
        guard place.stream.setStatus(on) else { return }
        place.membership.room.streamChanged(place.stream.key, isOn: on)
    }
}
