import GStreamer
import Testing

@testable import MediaGraphJanus
@testable import MediaGraphSession
@testable import WebRTC

/// Tests the numbers of streams on a network, without one.
@Suite struct NetworkMeterTests {
    private static func stream(_ user: String, _ direction: StreamStatistics.Direction) -> NetworkStream {
        NetworkStream(key: StreamKey(user: user, kind: .camera), direction: direction)
    }

    @Test("SE-12 a stream's rate and loss on the network are those since the last measurement")
    func rates() throws {
        let (sent, received) = (Self.stream("alice", .sent), Self.stream("bob", .received))
        var meter = NetworkMeter()
        let first = meter.measure(
            [
                sent: RTPStatistics(bytes: 1000, packets: 10, fractionLost: 0.5),
                received: RTPStatistics(bytes: 2000, packets: 20, packetsLost: 4),
            ], at: 1_000_000_000)
        #expect(first == [:])
        let second = meter.measure(
            [
                sent: RTPStatistics(
                    bytes: 3000, packets: 30, packetsLost: 7, fractionLost: 0.25, roundTripTime: 0.040),
                received: RTPStatistics(bytes: 2500, packets: 38, packetsLost: 6, jitter: 0.003),
            ], at: 3_000_000_000)
        #expect(
            second == [
                sent: NetworkStatistics(
                    bitsPerSecond: 8000, packetsLost: 7, packetLoss: 0.25, roundTripTime: .milliseconds(40)),
                // The way to the server is the same for what is received.
                received: NetworkStatistics(
                    bitsPerSecond: 2000, packetsLost: 6, packetLoss: 0.1, jitter: .milliseconds(3),
                    roundTripTime: .milliseconds(40)),
            ])
    }

    @Test("SE-12 a stream on a new connection has no rate yet, and packets that came after all aren't lost")
    func restarts() {
        let stream = Self.stream("bob", .received)
        var meter = NetworkMeter()
        _ = meter.measure([stream: RTPStatistics(bytes: 2000, packets: 20, packetsLost: 3)], at: 1_000_000_000)
        #expect(meter.measure([stream: RTPStatistics(bytes: 100, packets: 1)], at: 2_000_000_000) == [:])
        let next = meter.measure([stream: RTPStatistics(bytes: 225, packets: 2, packetsLost: -1)], at: 3_000_000_000)
        #expect(next == [stream: NetworkStatistics(bitsPerSecond: 1000)])
        #expect(meter.measure([:], at: 4_000_000_000) == [:])
    }

    @Test("SE-12 a stream's numbers on the network are fields of its structure", arguments: [false, true])
    func structure(isComplete: Bool) {
        var statistics = StreamStatistics(user: "alice", stream: .video, direction: .sent)
        #expect(StreamStatistics(statistics.structure) == statistics)
        statistics.network = NetworkStatistics(bitsPerSecond: 8000, packetsLost: 7, packetLoss: 0.25)
        if isComplete {
            statistics.network?.jitter = .milliseconds(3)
            statistics.network?.roundTripTime = .milliseconds(40)
        }
        #expect(StreamStatistics(statistics.structure) == statistics)
        let structure = statistics.structure
        #expect(structure["round-trip-time"] == (isComplete ? 0.040 : nil))
    }
}
