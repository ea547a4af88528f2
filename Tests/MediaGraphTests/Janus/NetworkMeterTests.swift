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

    private static func reading(
        _ counters: RTPStatistics, at second: UInt64, ssrc: UInt32 = 1
    ) -> NetworkMeter.Reading {
        NetworkMeter.Reading(ssrc: ssrc, counters: counters, time: second * 1_000_000_000)
    }

    @Test("SE-12 a stream's rate and loss on the network are those since the last measurement")
    func rates() throws {
        let (sent, received) = (Self.stream("alice", .sent), Self.stream("bob", .received))
        var meter = NetworkMeter()
        let first = meter.measure([
            sent: Self.reading(RTPStatistics(bytes: 1000, packets: 10, fractionLost: 0.5), at: 1),
            received: Self.reading(RTPStatistics(bytes: 2000, packets: 20, packetsLost: 4), at: 2),
        ])
        #expect(first == [:])
        let second = meter.measure([
            sent: Self.reading(
                RTPStatistics(bytes: 3000, packets: 30, packetsLost: 7, fractionLost: 0.25, roundTripTime: 0.040), at: 3
            ),
            received: Self.reading(RTPStatistics(bytes: 2500, packets: 38, packetsLost: 6, jitter: 0.003), at: 4),
        ])
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
        _ = meter.measure([stream: Self.reading(RTPStatistics(bytes: 2000, packets: 20, packetsLost: 3), at: 1)])
        // It may have counted more than the old connection.
        let new = Self.reading(RTPStatistics(bytes: 5000, packets: 50), at: 2, ssrc: 2)
        #expect(meter.measure([stream: new]) == [:])
        let next = Self.reading(RTPStatistics(bytes: 5125, packets: 51, packetsLost: -1), at: 3, ssrc: 2)
        #expect(meter.measure([stream: next]) == [stream: NetworkStatistics(bitsPerSecond: 1000)])
        #expect(meter.measure([:]) == [:])
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
