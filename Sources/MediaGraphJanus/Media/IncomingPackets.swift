import GStreamer
import MediaGraphCore
import MediaGraphSession
import Synchronization
import WebRTC

/// Watches a remote user's stream behind `webrtcbin`: gives the packets the orientation and the time of capture of their
/// media, which depayloaders and decoders pass on, and finds out how the stream stays in step with the feed's others.
///
/// `@unchecked Sendable`: only the streaming thread uses `stream`; everything else is constant or behind a lock.
final class IncomingPackets: PadTap, @unchecked Sendable {
    /// What only the streaming thread uses.
    private struct Stream {
        var segment: Segment?
        /// The timestamp of the last packet.
        var timestamp: UInt32?
        /// How the receiver turns the frames, in which the flip is included.
        var orientation = VideoOrientation.upright
    }

    private let kind: StreamKind
    private let clockRate: Int64
    private let orientationID: UInt8?
    private let sink: Element
    private let sync: StreamSync
    private let references: Mutex<TimeReferences>
    private let flip: Mutex<Flip>
    private let currentShift = Atomic<UInt64>(0)
    private var stream = Stream()

    /// - Parameters:
    ///   - caps: The packets' format.
    ///   - orientationID: The ID of the header extension with the orientation; `nil` if there is none.
    ///   - sink: The sink that waits until the stream's media are due.
    init(
        _ kind: StreamKind, _ caps: Caps, orientationID: UInt8?, to sink: Element, sync: StreamSync,
        knowing details: OutgoingPackets.Details
    ) {
        (self.kind, self.orientationID) = (kind, orientationID)
        (self.sink, self.sync) = (sink, sync)
        clockRate = Int64(caps[0]["clock-rate", as: Int32.self] ?? (kind.isSound ? 48_000 : 90_000))
        references = Mutex(TimeReferences())
        flip = Mutex(details.flip)
        super.init()
        setDetails(details)
    }

    /// How much later than they arrive the media are to be shown, in nanoseconds.
    var shift: UInt64 { currentShift.load(ordering: .relaxed) }

    /// Takes what the sender has announced.
    func setDetails(_ details: OutgoingPackets.Details) {
        if let reference = details.reference { references.withLock { $0.set(reference) } }
        flip.withLock { $0 = details.flip }
    }

    override func received(_ event: Event) -> Bool {
        if case .segment(let segment) = event { stream.segment = segment }
        return true
    }

    override func received(_ buffer: inout PassingBuffer) -> FlowReturn {
        guard let packet = RTPPacket(buffer.access, isSound: kind.isSound, orientationID: orientationID) else {
            return .ok
        }
        let isFirst = packet.timestamp != stream.timestamp
        stream.timestamp = packet.timestamp
        if let end = packet.payloadEnd { references.withLock { $0.add(end, at: packet.timestamp) } }
        if isFirst { begin(packet, &buffer) }
        if let orientation = packet.orientation { stream.orientation = orientation }
        if packet.hasMarker, !kind.isSound { addOrientation(to: &buffer) }
        return .ok
    }

    /// Finds out when a frame was captured, and when it is to be shown.
    private func begin(_ packet: RTPPacket, _ buffer: inout PassingBuffer) {
        guard let times = references.withLock({ $0.times(of: packet.timestamp, clockRate: clockRate) }) else { return }
        if let captureTime = times.captureTime {
            buffer.makeWritable()
            buffer.access.setCaptureTime(unixNanoseconds: captureTime)
        }
        guard let base = sink.baseTime,
            let time = stream.segment?.runningTime(of: buffer.access.presentationTimestamp)
        else { return }
        let arrival = base.nanoseconds + time.nanoseconds
        let new = sync.shift(kind, delay: Int64(arrival) &- Int64(bitPattern: times.time), at: arrival)
        guard currentShift.exchange(new, ordering: .relaxed) != new else { return }
        sink.configure("ts-offset", to: Int64(new))
    }

    /// Divides the orientation into the mirror mode's flip and the rest, as it was before it was sent.
    private func addOrientation(to buffer: inout PassingBuffer) {
        let flip = flip.withLock { $0 }
        guard stream.orientation != .upright || flip != .none else { return }
        let orientation = stream.orientation.followed(by: VideoOrientation(flip))
        buffer.makeWritable()
        orientation.mark(buffer.access)
        Flip.meta.set(flip.turned(by: orientation).rawValue, on: buffer.access)
    }
}
