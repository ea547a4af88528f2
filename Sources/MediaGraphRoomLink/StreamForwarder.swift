import GStreamer
import MediaGraphCore
import MediaGraphSession
import Synchronization

/// Hands one of this process's streams to other processes: a reader like any other, whose thread copies each buffer once
/// into shared memory for all of them, as high as the most demanding wants it.
final class StreamForwarder: Sendable {
    private struct State: Sendable {
        var peers: [RoomPeer] = []
        var demands: [ObjectIdentifier: Resolution] = [:]
        var format: StreamFormat?
        /// Where the peers want less than there is.
        var scaler: FrameScaler?
        var pool: SharedMemoryPool<ObjectIdentifier>
        var order = FrameOrder()
        var layouts = LayoutCheck()
        /// Who lost what was before the next frame.
        var behind: Set<ObjectIdentifier> = []
        // What those who come later are told.
        var hasBegun = false
        var caps: SharedCaps?
        var timing: StreamTiming?
        var isOn = false

        var demand: Resolution? { Resolution.greatest(demands.values) }
    }

    /// Until it is started, and after it was stopped, there is no thread.
    private enum Run: Sendable {
        case idle
        case running(NativeThread)
        case stopped
    }

    private static let memoryCount = Atomic<UInt64>(0)

    let stream: RoomStream
    private let reader: StreamReader
    private let state: Mutex<State>
    private let run = Mutex(Run.idle)

    init(_ stream: RoomStream) {
        self.stream = stream
        // Sound comes in bursts, and its blocks are small.
        let share = RoomPeer.heldByReference + (stream.key.kind.isSound ? 12 : 2)
        state = Mutex(
            State(
                pool: SharedMemoryPool(share: share) {
                    Self.memoryCount.wrappingAdd(1, ordering: .relaxed).newValue
                }))
        reader = StreamReader(bound: OutputKey.of(stream.key).bound, statistics: stream.remoteStatistics)
        reader.play()
    }

    /// Once, and never after `stop`.
    func start() {
        run.withLock { run in
            guard case .idle = run else { return }
            stream.add(reader)
            run = .running(NativeThread("room-forwarder") { [self] in forward() })
        }
    }

    /// Ends its thread.
    func stop() {
        let thread = run.withLock { run -> NativeThread? in
            defer { run = .stopped }
            guard case .running(let thread) = run else { return nil }
            return thread
        }
        guard let thread else { return }
        stream.remove(reader)
        reader.end()
        thread.join()
    }

    /// Or what it wants has changed.
    func add(_ peer: RoomPeer, _ resolution: Resolution) {
        state.withLock { state in
            state.demands[ObjectIdentifier(peer)] = resolution
            guard !state.peers.contains(where: { $0 === peer }) else { return }
            state.peers.append(peer)
            if state.format?.isEncoded == true { state.behind.insert(ObjectIdentifier(peer)) }
            guard state.hasBegun else { return }
            peer.send(.begin(stream.key))
            if let caps = state.caps { peer.send(.caps(stream.key, caps)) }
            if let timing = state.timing { peer.send(.latency(stream.key, timing.latency.nanoseconds)) }
            if state.isOn { peer.send(.status(stream.key, true)) }
        }
        reader.negotiate()
    }

    /// True when nobody is left. One that isn't gone may go on looking at what it has got.
    func remove(_ peer: RoomPeer, isGone: Bool) -> Bool {
        defer { reader.negotiate() }
        return state.withLock { state in
            let holder = ObjectIdentifier(peer)
            state.demands[holder] = nil
            state.behind.remove(holder)
            state.peers.removeAll { $0 === peer }
            if isGone {
                let lost = state.pool.remove(holder)
                if !lost.isEmpty { for peer in state.peers { peer.send(.forget(memories: lost)) } }
            } else {
                let known = state.pool.unsubscribe(holder)
                if !known.isEmpty { peer.send(.forget(memories: known)) }
            }
            return state.peers.isEmpty
        }
    }

    func release(_ memories: [UInt64], by peer: RoomPeer) {
        state.withLock { state in for memory in memories { state.pool.release(memory, ObjectIdentifier(peer)) } }
    }

    private func forward() {
        while true {
            switch reader.next() {
            case .buffer(let frame): show(frame)
            case .signal(let signal): tell(signal)
            case .negotiate: adapt()
            case .idle, .flush, .memoryFull, .refusedDownstream, .stalled: continue
            case .end: return
            }
        }
    }

    private func tell(_ signal: StreamReader.Signal) {
        if case .format(let format) = signal {
            warn(
                state.withLock { state in
                    state.format = format
                    return tellFormat(&state)
                })
            return
        }
        state.withLock { state in
            let message: PeerMessage
            switch signal {
            case .begin:
                (state.hasBegun, state.caps, state.timing, state.isOn) = (true, nil, nil, false)
                (state.format, state.scaler) = (nil, nil)
                (state.order, state.behind) = (FrameOrder(), [])
                message = .begin(stream.key)
            case .format, .refused: return
            case .timing(let timing):
                state.timing = timing
                message = .latency(stream.key, timing.latency.nanoseconds)
            case .status(let isOn):
                state.isOn = isOn
                message = .status(stream.key, isOn)
            }
            for peer in state.peers { peer.send(message) }
        }
    }

    /// What the peers want has changed.
    private func adapt() {
        warn(
            state.withLock { state in
                guard let format = state.format, let demand = state.demand, format.scaler(demand) !== state.scaler
                else { return nil }
                return tellFormat(&state)
            })
    }

    /// Its user is told, with no lock held, of caps that can't be sent.
    private func warn(_ caps: Caps?) {
        guard let caps else { return }
        RoomLink.log.log(.warning, nil, "\(stream.id) stays in this process: \(caps)")
        stream.warn("isn't sent to other processes: its format can't be transmitted: \(caps)")
    }

    /// As it is from now on, or as small as is wanted. Answers caps that can't be sent.
    private func tellFormat(_ state: inout State) -> Caps? {
        guard let format = state.format else { return nil }
        state.scaler = state.demand.flatMap(format.scaler)
        let caps = state.scaler?.caps ?? format.caps
        state.caps = SharedCaps(caps)
        guard let shared = state.caps else { return caps }
        for peer in state.peers { peer.send(.caps(stream.key, shared)) }
        return nil
    }

    private func scaled(_ frame: StreamReader.Frame) -> Buffer? {
        guard let scaler = state.withLock({ $0.scaler }) else { return frame.buffer.access.retained }
        return scaler.scaled(frame)?.buffer.retained
    }

    /// Whether its planes lie in its memory, as those at the other end make sure of.
    private func lies(_ buffer: BufferAccess) -> Bool {
        guard let layout = buffer.videoLayout else { return true }
        return state.withLock { $0.layouts.fits(layout, in: buffer.size) }
    }

    private func show(_ frame: StreamReader.Frame) {
        guard let shown = scaled(frame) else { return reader.lose(frame.buffer) }
        guard lies(shown.access) else {
            stream.warn("isn't sent to other processes: its plane layout isn't supported there")
            return reader.lose(frame.buffer)
        }
        let (place, timing) = state.withLock {
            $0.caps == nil
                ? (nil, nil)
                : (
                    $0.pool.free(
                        shown.access.size, readers: $0.peers.lazy.map { ObjectIdentifier($0) },
                        now: monotonicNanoseconds()), $0.timing
                )
        }
        guard let place, place.memory.copy(shown.access) else { return reader.lose(frame.buffer) }
        _ = frame.buffer.take()
        let shared = SharedBuffer(shown.access, in: place.id, capacity: place.memory.size, timing: timing)
        let bytes = BufferMessage.buffer(stream.key, shared).bytes
        let isPredicted = !shown.access.isKeyframe
        let lacksKeyFrame = state.withLock { state in
            var lacksKeyFrame = false
            if state.order.hasGap(before: frame.number) {
                state.behind = Set(state.peers.map { ObjectIdentifier($0) })
            }
            for peer in state.peers {
                if !place.replaced.isEmpty { peer.send(.forget(memories: place.replaced)) }
                let holder = ObjectIdentifier(peer)
                if isPredicted, state.format?.isEncoded == true, state.behind.contains(holder) {
                    lacksKeyFrame = true
                    reader.statistics.countDrop()
                    continue
                }
                guard state.pool.hasRoom(holder) else {
                    state.behind.insert(holder)
                    reader.statistics.countDrop()
                    continue
                }
                let file = state.pool.isNew(place.id, to: holder) ? place.memory.descriptor : nil
                let isBehind = state.behind.contains(holder)
                if peer.send(
                    isBehind ? BufferMessage.buffer(stream.key, shared.discontinuous).bytes : bytes, descriptor: file)
                {
                    state.behind.remove(holder)
                    state.pool.hold(place.id, holder)
                } else {
                    state.behind.insert(holder)
                    reader.statistics.countDrop()
                }
            }
            return lacksKeyFrame
        }
        if lacksKeyFrame { stream.requestKeyFrame() }
        reader.statistics.countFrame()
    }
}
