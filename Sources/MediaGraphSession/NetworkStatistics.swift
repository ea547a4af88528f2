import GStreamer

/// The numbers of a stream that crosses a network, in one second (Zoom's `ZoomVideoSDKVideoStatisticInfo`, Agora's
/// `RemoteVideoStats`, ZEGO's `ZegoPlayStreamQuality`; the terms are those of W3C's Identifiers for WebRTC's Statistics).
///
/// They cover the path between this program and the server. For a sent stream, the server reports the losses; for a received
/// stream, this program counts them.
public struct NetworkStatistics: Sendable, Hashable {
    /// Bits of encoded media in each second. 0 while nobody reads the stream.
    public var bitsPerSecond: Double
    /// The number of packets lost since the connection began. For a received stream, packets recovered by retransmission aren't
    /// counted; for a sent stream, they are.
    public var packetsLost: UInt64
    /// The fraction of packets lost recently, from 0 to 1, counted like ``packetsLost``.
    public var packetLoss: Double
    /// How much the packets' transit times vary, on average; `nil` for a sent stream.
    public var jitter: Duration?
    /// The time to the server and back; `nil` before it is known, and while the program sends nothing.
    public var roundTripTime: Duration?

    /// Creates statistics.
    public init(
        bitsPerSecond: Double = 0, packetsLost: UInt64 = 0, packetLoss: Double = 0, jitter: Duration? = nil,
        roundTripTime: Duration? = nil
    ) {
        (self.bitsPerSecond, self.packetsLost, self.packetLoss) = (bitsPerSecond, packetsLost, packetLoss)
        (self.jitter, self.roundTripTime) = (jitter, roundTripTime)
    }
}

extension NetworkStatistics {
    /// The statistics as fields of a stream's structure. Times are in seconds.
    var fields: [(String, any ValueConvertible)] {
        let times = [("jitter", jitter), ("round-trip-time", roundTripTime)].compactMap { name, time in
            time.map { (name, $0.seconds as any ValueConvertible) }
        }
        return [
            ("network-bits-per-second", bitsPerSecond), ("packets-lost", packetsLost), ("packet-loss", packetLoss),
        ] + times
    }

    /// Reads the fields; `nil` if the stream crosses no network.
    init?(_ structure: Structure) {
        guard let bitsPerSecond: Double = structure["network-bits-per-second"] else { return nil }
        self.init(
            bitsPerSecond: bitsPerSecond, packetsLost: structure["packets-lost"] ?? 0,
            packetLoss: structure["packet-loss"] ?? 0,
            jitter: structure["jitter", as: Double.self].map { .seconds($0) },
            roundTripTime: structure["round-trip-time", as: Double.self].map { .seconds($0) })
    }
}
