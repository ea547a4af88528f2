import GStreamer
import Synchronization

/// What a session does with one of its user's own streams: hands it on to those who read it.
///
/// `@unchecked Sendable`: `announced` and `isRefused` belong to the streaming thread; the rest is constant or atomic.
final class StreamPublisher: AppSinkDelegate, @unchecked Sendable {
    let kind: StreamKind
    let appSink: AppSink
    /// What the user has sent.
    let statistics = NodeStatistics()
    private let owner: WeakElement
    private let place = Mutex<Place?>(nil)
    /// Counts the times that PLAYING began: the base time is another then.
    private let plays = Atomic<Int>(0)
    private var announced: Announced?
    /// It has been said that another shares.
    private var isRefused = false

    /// Where the stream is published.
    private struct Place: Sendable {
        var membership: Membership
        var stream: RoomStream
    }

    private struct Announced {
        var stream: RoomStream
        var caps: Caps?
        var capsIdentity: UInt
        var segment: Segment?
        var play: Int
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

    /// Before data flows, and with `nil` after it has ended.
    func join(_ membership: Membership?) {
        let new = membership.map { membership in
            Place(
                membership: membership,
                stream: membership.room.stream(StreamKey(user: membership.user, kind: kind)))
        }
        let left = place.withLock { place in
            defer { place = new }
            return place
        }
        if let left {
            turn(left, on: false)
            left.stream.end()
        }
        if let new {
            statistics.reset()
            new.stream.begin()
        }
    }

    /// Buffers that came while another shared, or that other processes' readers were too slow for.
    var losses: UInt64 {
        statistics.dropped.load(ordering: .relaxed)
            + (place.withLock { $0 }?.stream.remoteStatistics.dropped.load(ordering: .relaxed) ?? 0)
    }

    func playing() { plays.wrappingAdd(1, ordering: .relaxed) }

    // MARK: The streaming thread

    override func received(_ sample: borrowing Sample) -> FlowReturn {
        guard let buffer = sample.buffer else { return .ok }
        let play = plays.load(ordering: .relaxed)
        guard let announced, announced.play == play, sample.hasCaps(at: announced.capsIdentity),
            sample.has(announced.segment)
        else { return announce(sample, buffer, play) }
        statistics.countFrame()
        announced.stream.send(buffer)
        return .ok
    }

    /// What is new goes ahead of the buffer.
    private func announce(_ sample: borrowing Sample, _ buffer: BufferAccess, _ play: Int) -> FlowReturn {
        guard let place = place.withLock({ $0 }), let caps = sample.caps else { return .ok }
        let stream = place.stream
        let known = announced.flatMap { $0.stream === stream ? $0 : nil }
        guard let segment = sample.segment, let clock = appSink.clock, let base = appSink.baseTime else {
            owner.postError(
                .processing, "\(owner.name): \(kind.inputPad) has no times: a session takes streams in time format only"
            )
            return .error
        }
        guard mayBegin(place) else {
            statistics.countDrop()
            return .ok
        }
        if known.map({ !sample.hasCaps(at: $0.capsIdentity) }) ?? true { stream.setCaps(caps) }
        if known?.segment != segment || known?.play != play {
            let latency = appSink.staticPad("sink")?.upstreamLatency()?.minimum ?? .zero
            stream.setTiming(StreamTiming(segment: segment, clock: clock, baseTime: base, latency: latency))
        }
        announced = Announced(stream: stream, caps: caps, capsIdentity: caps.identity, segment: segment, play: play)
        turn(place, on: true)
        statistics.countFrame()
        stream.send(buffer)
        return .ok
    }

    /// Not while another user shares: that is said once, and tried again with each buffer.
    private func mayBegin(_ place: Place) -> Bool {
        let key = place.stream.key
        do throws(MediaGraphError) {
            try place.membership.room.begin(key)
            isRefused = false
            return true
        } catch {
            if !isRefused {
                owner.postWarning(.busy, "\(owner.name): \(kind.inputPad) isn't sent: \(error)")
                owner.post(SessionMessage.shareRefused(key.user, error))
            }
            isRefused = true
            return false
        }
    }

    override func received(_ event: StreamEvent) {
        switch event {
        case .caps:
            // A file is sent at the pace at which it would be shown; what is live has its pace.
            if let isLive = appSink.staticPad("sink")?.upstreamLatency()?.isLive { appSink.setSynchronized(!isLive) }
        case .custom(let structure) where structure.name == StreamStatus.eventName:
            // On is said with the first frame.
            if structure["on"] == false { reachedEndOfStream() }
        default: break
        }
    }

    override func reachedEndOfStream() {
        guard let place = place.withLock({ $0 }) else { return }
        turn(place, on: false)
        announced = nil
    }

    private func turn(_ place: Place, on: Bool) {
        guard place.stream.setStatus(on) else { return }
        place.membership.room.streamChanged(place.stream.key, isOn: on)
    }
}
