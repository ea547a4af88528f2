import CGStreamer
import GStreamer

/// What a connection has counted of one media source (SSRC) since it began.
package struct RTPStatistics: Sendable, Hashable {
    /// The bytes of the payloads that were sent or received.
    package var bytes: UInt64 = 0
    package var packets: UInt64 = 0
    package var packetsLost: Int64 = 0
    /// Of a sent stream: the fraction of packets that were lost between the receiver's last two reports.
    package var fractionLost: Double?
    /// Of a received stream, in seconds.
    package var jitter: Double?
    /// Of a sent stream, in seconds; `nil` before the receiver has reported.
    package var roundTripTime: Double?
}

extension PeerConnection {
    /// Returns the statistics by SSRC (`get-stats`).
    package func statistics() async throws(PeerConnectionError) -> [UInt32: RTPStatistics] {
        let report = try await report()
        var statistics: [UInt32: RTPStatistics] = [:]
        for name in report.fieldNames {
            guard let fields = report[name, as: Structure.self], let ssrc: UInt32 = fields["ssrc"] else { continue }
            // The names end with the SSRC.
            switch name.prefix(while: { $0 != "_" }) {
            case "rtp-outbound-stream-stats":
                guard let packets: UInt64 = fields["packets-sent"], packets > 0 else { continue }
                statistics[ssrc, default: RTPStatistics()].packets = packets
                statistics[ssrc]?.bytes = fields["bytes-sent"] ?? 0
            case "rtp-remote-inbound-stream-stats":
                statistics[ssrc, default: RTPStatistics()].packetsLost = fields["packets-lost"] ?? 0
                statistics[ssrc]?.fractionLost = fields["fraction-lost"]
                statistics[ssrc]?.roundTripTime = fields["round-trip-time", as: Double.self].flatMap {
                    $0 > 0 ? $0 : nil
                }
            case "rtp-inbound-stream-stats":
                guard let packets: UInt64 = fields["packets-received"], packets > 0 else { continue }
                statistics[ssrc, default: RTPStatistics()].packets = packets
                statistics[ssrc]?.bytes = fields["bytes-received"] ?? 0
                // `webrtcbin` 1.22 may report the losses of another stream's jitter buffer.
                let counters = try? jitterBuffer(of: ssrc)?.property("stats", as: Structure.self)
                statistics[ssrc]?.packetsLost = Int64(counters?["num-lost", as: UInt64.self] ?? 0)
                statistics[ssrc]?.jitter = fields["jitter"]
            default: break
            }
        }
        return statistics
    }
}
