import GStreamer
import MediaGraphCore
import MediaGraphSession
import Synchronization

/// Writes a remote user's decoded media to a `RoomStream`.
///
/// `@unchecked Sendable`: only the streaming thread uses `hasBegun`; everything else is constant or behind a lock.
final class IncomingStream: AppSinkDelegate, @unchecked Sendable {
    private let stream: RoomStream
    private let sink: AppSink
    private let sync: StreamSync
    /// Whether the stream's media may be shown, and whether readers have been told that it is on.
    private let status: Mutex<Status>
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
    init?(_ stream: RoomStream, _ state: UserState.Stream?, sync: StreamSync) {
        guard let sink = AppSink() else { return nil }
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
        guard let description = MediaFormat.decoder(of: encoding),
            let decoder = try? Element(parsing: description, inlet: "inlet", outlet: "outlet"),
            let input = decoder.staticPad("sink")
        else { return false }
        sink.setDelegate(self)
        for element in [decoder, sink] { pipeline.add(element) }
        guard decoder.link(to: sink) else { return false }
        for element in [sink, decoder] { element.syncState() }
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

    /// Writes nothing more to the stream.
    func silence() {
        setAllowed(false)
        status.withLock { $0.isSilenced = true }
    }

    /// Releases what retains this object.
    func close() { sink.removeDelegate() }

    override func received(_ event: StreamEvent) {
        guard case .caps(let caps) = event, !status.withLock({ $0.isSilenced }) else { return }
        JanusRoom.log.log(.debug, sink, "\(stream.id): \(caps)")
        if !hasBegun {
            hasBegun = true
            stream.begin()
        }
        stream.setCaps(caps)
        stream.setTiming(.machine(latency: .milliseconds(Int(IncomingFeed.soundLatency))))
    }

    override func received(_ sample: borrowing Sample) -> FlowReturn {
        guard let buffer = sample.buffer, let time = sample.runningTime(of: buffer), let base = sink.baseTime else {
            return .ok
        }
        let shift = status.withLock { status -> UInt64? in
            guard status.isAllowed, !status.isSilenced else { return nil }
            if !status.isOn {
                status.isOn = true
                _ = stream.setStatus(true)
            }
            return status.packets?.shift ?? 0
        }
        guard let shift else { return .ok }
        // The pipeline runs by the machine's clock, like the stream.
        let moved = buffer.alias
        moved.access.presentationTimestamp = ClockTime(nanoseconds: base.nanoseconds + time.nanoseconds + shift)
        stream.send(moved.access)
        return .ok
    }
}
