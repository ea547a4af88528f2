import GStreamer
import MediaGraphCore
import MediaGraphSession
import Synchronization

/// Writes a remote user's media to a `RoomStream`, as received, and decoded while a reader wants that.
///
/// `@unchecked Sendable`: only the streaming thread uses `hasBegun`; everything else is constant or behind a lock.
final class IncomingStream: AppSinkDelegate, @unchecked Sendable {
    private let stream: RoomStream
    private let sink: AppSink
    private let sync: StreamSync
    /// Whether the stream's media may be shown, and whether readers have been told that it is on.
    private let status: Mutex<Status>
    private let decodes: Atomic<Bool>
    private var hasBegun = false

    private struct Status {
        /// False once the user has announced that the stream is off. True before the first announcement, which can take seconds
        /// on a lossy network.
        var isAllowed: Bool
        /// What the sender has announced of the packets.
        var details: OutgoingPackets.Details
        var packets: IncomingPackets?
        var isOn = false
        var isSilenced = false
    }

    /// `state` is what the user has announced of the stream; `nil` before that.
    init?(_ stream: RoomStream, _ state: UserState.Stream?, decodes: Bool, sync: StreamSync) {
        guard let sink = AppSink() else { return nil }
        self.decodes = Atomic(decodes)
        (self.stream, self.sink, self.sync) = (stream, sink, sync)
        status = Mutex(Status(isAllowed: state?.isOn ?? true, details: state?.details ?? .init()))
        super.init()
        // Waits for media that arrive earlier than those of the feed's other streams.
        sink.setSynchronized(true)
        sink.setPrerolls(false)
        sink.setKeepsLastSample(false)
    }

    /// Adds the elements that decode a pad's RTP packets to the pipeline. False if there is no decoder for them.
    func connect(
        _ pad: Pad, _ caps: Caps, _ encoding: String, orientationID: UInt8?, in pipeline: Pipeline
    ) -> Bool {
        guard let codec = MediaCodec(rawValue: encoding.uppercased()),
            let depayloader = try? Element(parsing: codec.depayloader),
            let decoder = try? Element(parsing: codec.decoder),
            let input = depayloader.staticPad("sink"), let encoded = decoder.staticPad("sink")
        else { return false }
        sink.setDelegate(self)
        for element in [depayloader, decoder, sink] { pipeline.add(element) }
        encoded.setTap(EncodedFrames(of: self))
        guard depayloader.link(to: decoder), decoder.link(to: sink) else { return false }
        for element in [sink, decoder, depayloader] { element.syncState() }
        let packets = status.withLock { status in
            let packets = IncomingPackets(
                stream.key.kind, caps, orientationID: orientationID, to: sink, sync: sync, knowing: status.details)
            status.packets = packets
            return packets
        }
        input.setTap(packets)
        return pad.link(to: input)
    }

    /// Records whether the user sends the stream. While the user doesn't, buffers are late ones, and are left out.
    func setAllowed(_ isOn: Bool) {
        status.withLock { status in
            status.isAllowed = isOn
            guard !isOn, status.isOn else { return }
            status.isOn = false
            _ = stream.setStatus(false)
        }
    }

    /// Records what the sender has announced of the packets.
    func setDetails(_ details: OutgoingPackets.Details) {
        let packets = status.withLock { status in
            status.details = details
            return status.packets
        }
        packets?.setDetails(details)
    }

    /// Sets whether a reader wants decoded media. Returns whether the decoder begins, for which it needs a key frame.
    func setDecodes(_ decodes: Bool) -> Bool {
        !self.decodes.exchange(decodes, ordering: .relaxed) && decodes
    }

    /// Writes nothing more to the stream.
    func silence() {
        setAllowed(false)
        status.withLock { $0.isSilenced = true }
    }

    /// Releases what retains this object.
    func close() { sink.removeDelegate() }

    override func received(_ event: StreamEvent) {
        if case .caps(let caps) = event { received(caps, stream.setCaps) }
    }

    /// Passes on the format of the media that follow.
    private func received(_ caps: Caps, _ set: (Caps) -> Void) {
        guard !status.withLock({ $0.isSilenced }) else { return }
        JanusRoom.log.log(.debug, sink, "\(stream.id): \(caps)")
        if !hasBegun {
            hasBegun = true
            stream.begin()
        }
        set(caps)
        stream.setTiming(.machine(latency: .milliseconds(Int(IncomingFeed.soundLatency))))
    }

    override func received(_ sample: borrowing Sample) -> FlowReturn {
        guard let buffer = sample.buffer, let time = sample.runningTime(of: buffer), let delay = admit() else {
            return .ok
        }
        let moved = buffer.alias
        moved.access.presentationTimestamp = ClockTime(nanoseconds: time.nanoseconds + delay)
        stream.send(moved.access)
        return .ok
    }

    /// Returns how much the stream's time is ahead of the running time, in nanoseconds; `nil` if media may not be shown. Turns
    /// the stream on otherwise.
    private func admit() -> UInt64? {
        // The pipeline runs by the machine's clock, like the stream.
        guard let base = sink.baseTime?.nanoseconds else { return nil }
        return status.withLock { status in
            guard status.isAllowed, !status.isSilenced else { return nil }
            if !status.isOn {
                status.isOn = true
                _ = stream.setStatus(true)
            }
            return base + (status.packets?.shift ?? 0)
        }
    }

    /// Hands a stream's frames to readers of the encoded form, on their way to the decoder, and keeps them from the decoder
    /// while no reader wants decoded ones.
    ///
    /// `@unchecked Sendable`: only the streaming thread uses `segment` and `lacksKeyFrame`; `owner` is constant.
    private final class EncodedFrames: PadTap, @unchecked Sendable {
        private let owner: IncomingStream
        private var segment: Segment?
        /// Whether the decoder can't go on before the next key frame, because frames were kept from it.
        private var lacksKeyFrame = false

        init(of owner: IncomingStream) { self.owner = owner }

        override func received(_ event: Event) -> Bool {
            switch event {
            case .caps(let caps): owner.received(caps, owner.stream.setEncodedCaps)
            case .segment(let segment): self.segment = segment
            default: break
            }
            return true
        }

        override func received(_ buffer: inout PassingBuffer) -> FlowReturn {
            if let delay = owner.admit(), owner.stream.hasEncodedReaders { send(buffer.access, delay) }
            let decodes = owner.decodes.load(ordering: .relaxed)
            lacksKeyFrame = !decodes || lacksKeyFrame && !buffer.access.isKeyframe
            // The request at the beginning may be lost. This one is limited to one a second.
            if decodes, lacksKeyFrame { owner.stream.requestKeyFrame() }
            return lacksKeyFrame ? .dropped : .ok
        }

        private func send(_ buffer: BufferAccess, _ delay: UInt64) {
            func moved(_ timestamp: ClockTime?) -> ClockTime? {
                guard let timestamp, let time = segment?.runningTime(of: timestamp) else { return nil }
                return ClockTime(nanoseconds: time.nanoseconds + delay)
            }
            let frame = buffer.alias
            frame.access.presentationTimestamp = moved(buffer.presentationTimestamp)
            frame.access.decodingTimestamp = moved(buffer.decodingTimestamp)
            owner.stream.sendEncoded(frame.access)
        }
    }
}
