import DequeModule
import WebRTC

/// Says when the media in one packet of a stream were sent and captured, from which the others can be computed.
///
/// Janus 1.1.2 gives each receiver other RTP timestamps and sequence numbers, and RTCP reports with the times at which it
/// relayed the packets. Only the payload is the sender's, so the end of it identifies the packet.
struct TimeReference: Sendable, Hashable, Codable {
    var payloadEnd: PayloadEnd
    /// The timestamp in nanoseconds of the sender's monotonic clock, to which all of the sender's streams refer.
    var time: UInt64
    /// The wall-clock time of capture in Unix nanoseconds; `nil` if unknown.
    var captureTime: UInt64?

    private enum CodingKeys: String, CodingKey {
        case payloadEnd = "payload-end"
        case time
        case captureTime = "captured"
    }
}

/// Matches a sender's time references with received packets, and computes the times of other packets.
struct TimeReferences: Sendable {
    private var recent = Deque<(end: PayloadEnd, timestamp: UInt32)>()
    /// A time reference whose packet hasn't arrived.
    private var awaited: TimeReference?
    private var found: (reference: TimeReference, timestamp: UInt32)?

    /// Enough for the packets that arrive while a time reference is on its way: five seconds of sound.
    static let capacity = 256

    mutating func add(_ end: PayloadEnd, at timestamp: UInt32) {
        recent.append((end, timestamp))
        if recent.count > Self.capacity { recent.removeFirst() }
        if let reference = awaited, reference.payloadEnd == end {
            (found, awaited) = ((reference, timestamp), nil)
        } else if found?.reference.payloadEnd == end {
            // Equal payload ends, as with silence, don't identify a packet.
            found = nil
        }
    }

    mutating func set(_ reference: TimeReference) {
        guard reference != found?.reference else { return }
        let matches = recent.filter { $0.end == reference.payloadEnd }
        guard matches.count <= 1 else { return }
        awaited = matches.isEmpty ? reference : nil
        if let match = matches.first { found = (reference, match.timestamp) }
    }

    /// When the media of a packet with this RTP timestamp were sent and captured; `nil` if it isn't known yet.
    func times(of timestamp: UInt32, clockRate: Int64) -> (time: UInt64, captureTime: UInt64?)? {
        guard let found else { return nil }
        // RTP timestamps begin again at zero.
        let ticks = Int64(Int32(bitPattern: timestamp &- found.timestamp))
        let offset = UInt64(bitPattern: ticks * 1_000_000_000 / clockRate)
        let captureTime = found.reference.captureTime.map { $0 &+ offset }
        // Another program may send any number.
        return (found.reference.time &+ offset, captureTime.flatMap { $0 > 0 && $0 <= UInt64(Int64.max) ? $0 : nil })
    }
}
