import GStreamer
import MediaGraphCore
import MediaGraphSession
import Synchronization

/// Forwards one of this process's streams to other processes (peers). It is a reader of the stream, and its thread
/// copies each buffer once into shared memory for all peers, scaled to the highest resolution that a peer wants.
final class StreamForwarder: Sendable {
    private struct State: Sendable {
        var peers: [RoomPeer] = []
        var demands: [ObjectIdentifier: Resolution] = [:]
        var format: StreamFormat?
        /// Scales frames down if all peers want less than the stream's resolution.
        var scaler: FrameScaler?
        var pool: SharedMemoryPool<ObjectIdentifier>
        var order = FrameOrder()
        var layouts = LayoutCheck()
        /// The peers that have lost a frame before the next one.
        var behind: Set<ObjectIdentifier> = []
        // The stream's state, for peers that are added later.
        var hasBegun = false
        var caps: SharedCaps?
        var timing: StreamTiming?
        var isOn = false
        var hasAlpha = false

        var demand: Resolution? { Resolution.greatest(demands.values) }
    }

    /// Whether the thread exists: not before `start`, and not after `stop`.
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
    private let clock: TimerClock

    init(_ stream: RoomStream, clock: TimerClock = .system) {
        self.stream = stream
        self.clock = clock
        // More for audio, which arrives in bursts of small blocks.
        let share = RoomPeer.heldByReference + (stream.key.kind.isSound ? 12 : 2)
        state = Mutex(
            State(
                pool: SharedMemoryPool(share: share) {
                    Self.memoryCount.wrappingAdd(1, ordering: .relaxed).newValue
                }))
        reader = StreamReader(bound: OutputKey.of(stream.key).bound, statistics: stream.remoteStatistics)
        reader.play()
    }

    /// Starts the thread. Does nothing if it has been started before, or after `stop`.
    func start() {
        run.withLock { run in
            guard case .idle = run else { return }
            stream.add(reader)
            run = .running(NativeThread("room-forwarder") { [self] in forward() })
        }
    }

    /// Ends the thread and waits for it.
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

    /// Adds a peer, or changes the resolution that it wants.
    func add(_ peer: RoomPeer, _ resolution: Resolution) {
        reader.requestLatestWhenIdle()
        state.withLock { state in
            state.demands[ObjectIdentifier(peer)] = resolution
            guard !state.peers.contains(where: { $0 === peer }) else { return }
            state.peers.append(peer)
            if state.format?.isEncoded == true { state.behind.insert(ObjectIdentifier(peer)) }
            guard state.hasBegun else { return }
            peer.send(.begin(stream.key))
            if let caps = state.caps { peer.send(.caps(stream.key, caps)) }
            if state.hasAlpha { peer.send(.alpha(stream.key, true)) }
            if let timing = state.timing { peer.send(.latency(stream.key, timing.latency.nanoseconds)) }
            if state.isOn { peer.send(.status(stream.key, true)) }
        }
        reader.negotiate()
    }

    /// Removes a peer. Returns true if no peer is left. Unless the peer is gone, it may still use the buffers that it
    /// has received.
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

    /// Records that a peer no longer uses these memories.
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

    /// Passes a change of the stream on to the peers.
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
                (state.format, state.scaler, state.hasAlpha) = (nil, nil, false)
                (state.order, state.behind) = (FrameOrder(), [])
                message = .begin(stream.key)
            case .format, .refused: return
            case .timing(let timing):
                state.timing = timing
                message = .latency(stream.key, timing.latency.nanoseconds)
            case .status(let isOn):
                state.isOn = isOn
                message = .status(stream.key, isOn)
            case .alpha(let isOn):
                state.hasAlpha = isOn
                message = .alpha(stream.key, isOn)
            }
            for peer in state.peers { peer.send(message) }
        }
    }

    /// Changes the scaling, because the peers' demand may have changed.
    private func adapt() {
        // Tell the sender what resolution is needed. On this thread, because `add` and `remove` are called under locks.
        if let demand = state.withLock({ $0.demand }) { reader.setDemand(demand) }
        // Peers forget a share's last frame with its format.
        reader.requestLatestWhenIdle()
        warn(
            state.withLock { state in
                guard let format = state.format, let demand = state.demand, format.scaler(demand) !== state.scaler
                else { return nil }
                return tellFormat(&state)
            })
    }

    /// Warns the stream's user of caps that can't be sent; does nothing for `nil`. Call without holding a lock.
    private func warn(_ caps: Caps?) {
        guard let caps else { return }
        RoomLink.log.log(.warning, nil, "\(stream.id) stays in this process: \(caps)")
        stream.warn("isn't sent to other processes: its format can't be transmitted: \(caps)")
    }

    /// Sends the peers the format of the frames that follow, scaled if they want less. Returns the caps if they can't
    /// be sent.
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

    /// Whether the buffer's planes are inside its memory. The receivers check that too, and reject the buffer
    /// otherwise.
    private func hasValidLayout(_ buffer: BufferAccess) -> Bool {
        guard let layout = buffer.videoLayout else { return true }
        return state.withLock { $0.layouts.fits(layout, in: buffer.size) }
    }

    /// Copies a frame into shared memory and sends it to the peers.
    private func show(_ frame: StreamReader.Frame) {
        guard let shown = scaled(frame) else { return reader.drop(frame.buffer) }
        guard hasValidLayout(shown.access) else {
            stream.warn("isn't sent to other processes: its plane layout isn't supported there")
            return reader.drop(frame.buffer)
        }
        let (allocation, timing) = state.withLock {
            state -> (SharedMemoryPool<ObjectIdentifier>.Allocation?, StreamTiming?) in
            guard state.caps != nil else { return (nil, nil) }
            let allocation = state.pool.allocate(
                shown.access.size, readers: state.peers.lazy.map { ObjectIdentifier($0) }, now: clock.now)
            let removed = state.pool.takeRemoved()
            if !removed.isEmpty { for peer in state.peers { peer.send(.forget(memories: removed)) } }
            return (allocation, state.timing)
        }
        guard let allocation, allocation.memory.copy(shown.access) else { return reader.drop(frame.buffer) }
        _ = frame.buffer.take()
        let shared = SharedBuffer(shown.access, in: allocation.id, capacity: allocation.memory.size, timing: timing)
        let bytes = BufferMessage.buffer(stream.key, shared).bytes
        let isPredicted = !shown.access.isKeyframe
        let lacksKeyFrame = state.withLock { state in
            var lacksKeyFrame = false
            if state.order.hasGap(before: frame.number) {
                state.behind = Set(state.peers.map { ObjectIdentifier($0) })
            }
            for peer in state.peers {
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
                let file = state.pool.isNew(allocation.id, to: holder) ? allocation.memory.descriptor : nil
                let isBehind = state.behind.contains(holder)
                if peer.send(
                    isBehind ? BufferMessage.buffer(stream.key, shared.discontinuous).bytes : bytes, descriptor: file)
                {
                    state.behind.remove(holder)
                    state.pool.hold(allocation.id, holder)
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
