import GStreamer
import MediaGraphCore
import MediaGraphSession
import Synchronization
import WebRTC

/// Watches a remote user's stream behind `webrtcbin`: gives the packets the orientation and the time of capture of their
/// media, and timestamps that keep them in step with the feed's other streams. Depayloaders and decoders pass this on.
///
/// `@unchecked Sendable`: only the streaming thread uses `stream`; everything else is constant or behind a lock.
final class IncomingPackets: PadTap, @unchecked Sendable {
    /// What only the streaming thread uses.
    private struct Stream {
        var segment: Segment?
        /// The timestamp of the last packet.
        var timestamp: UInt32?
        /// How much later the frame is to be shown.
        var shift: UInt64 = 0
        /// How the receiver turns the frames, in which the flip is included.
        var orientation = VideoOrientation.upright
        /// When the frame was captured.
        var captureTime: UInt64?
    }

    private let kind: StreamKind
    private let clockRate: Int64
    private let orientationID: UInt8?
    private let element: Element
    private let sync: StreamSync
    private let marks: Mutex<PacketMarks>
    private let flip: Mutex<Flip>
    private var stream = Stream()

    /// - Parameters:
    ///   - caps: The packets' format.
    ///   - orientationID: The number of the header extension with the orientation; `nil` if there is none.
    ///   - element: An element of the pipeline.
    init(
        _ kind: StreamKind, _ caps: Caps, orientationID: UInt8?, in element: Element, sync: StreamSync,
        knowing details: OutgoingPackets.Details
    ) {
        (self.kind, self.orientationID) = (kind, orientationID)
        (self.element, self.sync) = (element, sync)
        clockRate = Int64(caps[0]["clock-rate", as: Int32.self] ?? (kind.isSound ? 48_000 : 90_000))
        marks = Mutex(PacketMarks())
        flip = Mutex(details.flip)
        super.init()
        setDetails(details)
    }

    /// Takes what the sender has announced.
    func setDetails(_ details: OutgoingPackets.Details) {
        if let mark = details.mark { marks.withLock { $0.set(mark) } }
        flip.withLock { $0 = details.flip }
    }

    override func received(_ event: Event) -> Bool {
        if case .segment(let segment) = event { stream.segment = segment }
        return true
    }

    override func received(_ buffer: inout PassingBuffer) -> FlowReturn {
        guard let packet = RTPPacket(buffer.access, orientationID: orientationID) else { return .ok }
        buffer.makeWritable()
        let isFirst = packet.timestamp != stream.timestamp
        stream.timestamp = packet.timestamp
        if kind.isSound || packet.isMarked { marks.withLock { $0.add(packet) } }
        if isFirst { begin(packet, buffer.access) }
        if let time = buffer.access.presentationTimestamp {
            buffer.access.presentationTimestamp = ClockTime(nanoseconds: time.nanoseconds + stream.shift)
        }
        if let captureTime = stream.captureTime, isFirst { buffer.access.setCaptureTime(unixNanoseconds: captureTime) }
        if let orientation = packet.orientation { stream.orientation = orientation }
        if packet.isMarked, !kind.isSound { addMetas(to: buffer.access) }
        return .ok
    }

    /// Finds out when a frame was captured, and when it is to be shown.
    private func begin(_ packet: RTPPacket, _ buffer: BufferAccess) {
        let times = marks.withLock { $0.times(of: packet.timestamp, clockRate: clockRate) }
        stream.captureTime = times?.captureTime
        guard let times, let base = element.baseTime,
            let time = stream.segment?.runningTime(of: buffer.presentationTimestamp)
        else { return stream.shift = 0 }
        stream.shift = sync.shift(
            kind, delay: Int64(base.nanoseconds + time.nanoseconds) &- Int64(bitPattern: times.time))
    }

    /// Divides the orientation into the mirror mode's flip and the rest, as it was before it was sent.
    private func addMetas(to buffer: BufferAccess) {
        let flip = flip.withLock { $0 }
        guard stream.orientation != .upright || flip != .none else { return }
        let orientation = stream.orientation.followed(by: VideoOrientation(flip))
        orientation.mark(buffer)
        Flip.meta.set(flip.turned(by: orientation).rawValue, on: buffer)
    }
}

/// The packets that a sender's mark may mean, and what the last mark that was found says.
struct PacketMarks: Sendable {
    private var recent: [(end: PayloadEnd, timestamp: UInt32)] = []
    private var oldest = 0
    /// A mark whose packet hasn't arrived.
    private var awaited: PacketMark?
    private var found: (mark: PacketMark, timestamp: UInt32)?

    /// Enough for the packets that arrive while a mark is on its way: five seconds of sound.
    private static let capacity = 256

    mutating func add(_ packet: RTPPacket) {
        guard let end = packet.payloadEnd else { return }
        add(end, at: packet.timestamp)
    }

    mutating func add(_ end: PayloadEnd, at timestamp: UInt32) {
        if recent.count < Self.capacity {
            recent.append((end, timestamp))
        } else {
            recent[oldest] = (end, timestamp)
            oldest = (oldest + 1) % Self.capacity
        }
        if let mark = awaited, mark.payloadEnd == end { (found, awaited) = ((mark, timestamp), nil) }
    }

    mutating func set(_ mark: PacketMark) {
        guard mark != found?.mark else { return }
        let matches = recent.filter { $0.end == mark.payloadEnd }
        // Packets that are alike, such as those of silence, mean nothing.
        guard matches.count <= 1 else { return }
        awaited = matches.isEmpty ? mark : nil
        if let match = matches.first { found = (mark, match.timestamp) }
    }

    /// When the media of a packet with this RTP timestamp were sent and captured; `nil` if it isn't known yet.
    func times(of timestamp: UInt32, clockRate: Int64) -> (time: UInt64, captureTime: UInt64?)? {
        guard let found else { return nil }
        // RTP timestamps begin again at zero.
        let ticks = Int64(Int32(bitPattern: timestamp &- found.timestamp))
        let offset = UInt64(bitPattern: ticks * 1_000_000_000 / clockRate)
        return (found.mark.time &+ offset, found.mark.captureTime.map { $0 &+ offset })
    }
}
