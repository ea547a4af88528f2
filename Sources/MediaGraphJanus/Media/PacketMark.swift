import WebRTC

/// Says when the media in one packet of a stream were sent and captured, from which the others can be computed.
///
/// Janus 1.1.2 gives each receiver other RTP timestamps and sequence numbers, and RTCP reports with the times at which it
/// relayed the packets. Only the payload is the sender's, so the end of it identifies the packet.
struct PacketMark: Sendable, Hashable, Codable {
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
