/// A histogram of latencies, in steps of a tenth of a millisecond. Its size doesn't grow with the length of the run.
struct LatencySamples: Sendable, Equatable {
    struct Summary: Codable, Sendable, Equatable {
        /// Percentiles in milliseconds.
        var p50: Double
        var p99: Double
    }

    private var counts: [Int: Int] = [:]
    private var total = 0

    private static let step = 0.1

    mutating func add(_ milliseconds: Double) {
        counts[Int((milliseconds / Self.step).rounded()), default: 0] += 1
        total += 1
    }

    /// The percentiles of all samples; `nil` without samples.
    var summary: Summary? { total == 0 ? nil : Summary(p50: percentile(50), p99: percentile(99)) }

    /// Returns the smallest value that `percent` % of the samples don't exceed.
    private func percentile(_ percent: Int) -> Double {
        let rank = max(1, (total * percent + 99) / 100)
        var seen = 0
        for (value, count) in counts.sorted(by: { $0.key < $1.key }) {
            seen += count
            if seen >= rank { return (Double(value) * Self.step).rounded(toPlaces: 1) }
        }
        return 0
    }
}
