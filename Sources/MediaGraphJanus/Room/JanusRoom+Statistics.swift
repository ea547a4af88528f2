import MediaGraphCore
import MediaGraphSession
import WebRTC

/// The numbers of the streams that cross the network.
extension JanusRoom {
    /// Measures the streams every second, like the sessions.
    func measureRegularly() async {
        var last = NetworkMeter()
        while !hasStopped {
            try? await thread.sleep(for: .seconds(1))
            await measure(&last)
        }
    }

    private func measure(_ meter: inout NetworkMeter) async {
        var readings: [NetworkStream: RTPStatistics] = [:]
        for (name, user) in local {
            guard let feed = user.feed, let statistics = try? await feed.connection.statistics() else { continue }
            for (kind, ssrc) in feed.ssrcs {
                let key = StreamKey(user: sender(of: name), kind: kind)
                readings[NetworkStream(key: key, direction: .sent)] = statistics[ssrc]
            }
        }
        for (name, user) in remote {
            guard let feed = user.feed, let owner = owner(of: name),
                let statistics = try? await feed.connection.statistics()
            else { continue }
            for (kind, ssrc) in feed.ssrcs {
                readings[NetworkStream(key: StreamKey(user: owner, kind: kind), direction: .received)] =
                    statistics[ssrc]
            }
        }
        let statistics = meter.measure(readings, at: thread.clock.now)
        shared.network.withLock { $0 = statistics }
    }
}

/// A stream on its way to or from the server.
struct NetworkStream: Sendable, Hashable {
    var key: StreamKey
    var direction: StreamStatistics.Direction
}

/// Computes rates from counters.
struct NetworkMeter: Sendable {
    private var last: [NetworkStream: RTPStatistics] = [:]
    private var time: UInt64 = 0

    /// Returns the statistics since the last call. Streams that are new have none. `time` is in nanoseconds.
    mutating func measure(
        _ readings: [NetworkStream: RTPStatistics], at time: UInt64
    ) -> [NetworkStream: NetworkStatistics] {
        let seconds = Double(time - self.time) / 1_000_000_000
        defer { (last, self.time) = (readings, time) }
        // A program that only reads knows no round trip.
        let roundTrip = readings.values.compactMap(\.roundTripTime).min()
        var statistics: [NetworkStream: NetworkStatistics] = [:]
        for (stream, new) in readings {
            // A connection that is new has counted less.
            guard let old = last[stream], old.bytes <= new.bytes, old.packets <= new.packets else { continue }
            let lost = Double(max(0, new.packetsLost - old.packetsLost))
            let came = Double(new.packets - old.packets)
            statistics[stream] = NetworkStatistics(
                bitsPerSecond: (8 * Double(new.bytes - old.bytes) / seconds).rounded(),
                packetsLost: UInt64(max(0, new.packetsLost)),
                packetLoss: new.fractionLost ?? (lost > 0 ? lost / (lost + came) : 0),
                jitter: new.jitter.map { .seconds($0) },
                roundTripTime: (new.roundTripTime ?? roundTrip).map { .seconds($0) })
        }
        return statistics
    }
}
