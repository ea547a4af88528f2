/// The median of paired measurements and its 95 % interval. The interval is computed from the order of the values,
/// which assumes nothing about their distribution.
struct PairedMedian: Sendable {
    let median: Double
    let low: Double
    let high: Double

    init(_ values: [Double]) {
        let sorted = values.sorted()
        let count = sorted.count
        median = count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2
        let rank = Self.rank(count)
        low = sorted[rank]
        high = sorted[count - 1 - rank]
    }

    /// Returns how many values at either end are outside the interval: the largest number with a probability of at most
    /// 2.5 % under a fair coin.
    private static func rank(_ count: Int) -> Int {
        var chance = 1.0
        for _ in 0..<count { chance /= 2 }
        var below = chance
        var rank = 0
        while rank < count / 2, below <= 0.025 {
            rank += 1
            chance = chance * Double(count - rank + 1) / Double(rank)
            below += chance
        }
        return max(0, rank - 1)
    }

    func text(_ digits: Int) -> String { "\(median.text(digits)) [\(low.text(digits)), \(high.text(digits))]" }
}

/// Percentiles of values in nanoseconds.
struct Percentiles: Sendable {
    private let sorted: [Int64]

    init(_ values: [Int64]) { sorted = values.sorted() }

    var count: Int { sorted.count }

    /// Returns the given percentile in milliseconds.
    func milliseconds(_ percent: Double) -> Double {
        guard !sorted.isEmpty else { return 0 }
        let index = Int((Double(sorted.count - 1) * percent / 100).rounded())
        return Double(sorted[index]) * 1e-6
    }
}
