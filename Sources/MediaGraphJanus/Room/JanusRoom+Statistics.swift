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
        var readings: [NetworkStream: NetworkMeter.Reading] = [:]
        for (name, user) in local {
            guard let feed = user.feed, let statistics = try? await feed.connection.statistics() else { continue }
            for (kind, ssrc) in feed.ssrcs {
                let key = StreamKey(user: sender(of: name), kind: kind)
                readings[NetworkStream(key: key, direction: .sent)] = reading(ssrc, statistics)
            }
        }
        for (name, user) in remote {
            guard let feed = user.feed, let owner = owner(of: name),
                let statistics = try? await feed.connection.statistics()
            else { continue }
            for (kind, ssrc) in feed.ssrcs {
                readings[NetworkStream(key: StreamKey(user: owner, kind: kind), direction: .received)] =
                    reading(ssrc, statistics)
            }
        }
        let statistics = meter.measure(readings)
        shared.network.withLock { $0 = statistics }
    }

    private func reading(_ ssrc: UInt32, _ statistics: [UInt32: RTPStatistics]) -> NetworkMeter.Reading? {
        statistics[ssrc].map { NetworkMeter.Reading(ssrc: ssrc, counters: $0, time: thread.clock.now) }
    }
}

/// A stream on its way to or from the server.
struct NetworkStream: Sendable, Hashable {
    var key: StreamKey
    var direction: StreamStatistics.Direction
}

/// Computes rates from counters.
struct NetworkMeter: Sendable {
    /// What a connection has counted of a stream.
    struct Reading: Sendable {
        /// Distinguishes the stream's connections.
        var ssrc: UInt32
        var counters: RTPStatistics
        /// In nanoseconds.
        var time: UInt64
    }

    private var last: [NetworkStream: Reading] = [:]

    /// Returns the statistics since the last call. Streams on a new connection have none.
    mutating func measure(_ readings: [NetworkStream: Reading]) -> [NetworkStream: NetworkStatistics] {
        defer { last = readings }
        // Only sent streams measure it. Received streams use the shortest of theirs.
        let roundTrip = readings.values.compactMap(\.counters.roundTripTime).min()
        var statistics: [NetworkStream: NetworkStatistics] = [:]
        for (stream, reading) in readings {
            guard let before = last[stream], before.ssrc == reading.ssrc, before.time < reading.time else { continue }
            let (old, new) = (before.counters, reading.counters)
            let seconds = Double(reading.time - before.time) / 1_000_000_000
            let lost = Double(max(0, new.packetsLost - old.packetsLost))
            let came = Double(new.packets - min(old.packets, new.packets))
            statistics[stream] = NetworkStatistics(
                bitsPerSecond: (8 * Double(new.bytes - min(old.bytes, new.bytes)) / seconds).rounded(),
                packetsLost: UInt64(max(0, new.packetsLost)),
                packetLoss: new.fractionLost ?? (lost > 0 ? lost / (lost + came) : 0),
                jitter: new.jitter.map { .seconds($0) },
                roundTripTime: (new.roundTripTime ?? roundTrip).map { .seconds($0) })
        }
        return statistics
    }
}
