import Foundation

extension [Int16] {
    /// The index of the largest sample; `nil` if there are no samples.
    public var largest: Int? { indices.max { self[$0] < self[$1] } }
}

/// Returns the largest difference between a sample and the one before it, which for the first one is `last`.
public func largestStep(in samples: Span<Int16>, after last: Int16) -> Int {
    var (last, largest) = (Int(last), 0)
    for index in samples.indices {
        let sample = Int(samples[index])
        largest = max(largest, abs(sample - last))
        last = sample
    }
    return largest
}

/// A sine, and a measure of how far a sound differs from it.
public struct Sine: Sendable {
    /// The frequency in Hz.
    public var frequency: Double
    /// Samples per second.
    public var rate: Int
    /// The amplitude, from 0 to 1 for full scale.
    public var amplitude: Double

    /// Creates a sine.
    public init(_ frequency: Double, rate: Int, amplitude: Double = 0.5) {
        (self.frequency, self.rate, self.amplitude) = (frequency, rate, amplitude)
    }

    /// Returns `count` 16-bit samples from `start` on.
    public func samples(_ start: Int, _ count: Int) -> [Int16] {
        (start..<start + count).map {
            Int16((32767 * amplitude * sin(2 * .pi * frequency * Double($0) / Double(rate))).rounded())
        }
    }

    /// Returns the indices of the samples that don't follow from the two before them, as each sample of a sine does. The
    /// rounding errors of three samples sum up to less than 3.
    public func clicks(in samples: [Int16], above limit: Double) -> [Int] {
        let factor = 2 * cos(2 * Double.pi * frequency / Double(rate))
        return samples.indices.dropFirst(2).filter {
            abs(Double(samples[$0]) - factor * Double(samples[$0 - 1]) + Double(samples[$0 - 2])) > limit
        }
    }

    /// Returns the total harmonic distortion plus noise of `samples`, in decibels, against the sine of this frequency
    /// that fits them best (least squares); and the largest error of a sample, which shows clicks.
    public func distortion(of samples: [Int16]) -> (decibels: Double, worst: Double) {
        let angle = 2 * .pi * frequency / Double(rate)
        let count = Double(samples.count)
        var (ss, sc, cc, s1, c1) = (0.0, 0.0, 0.0, 0.0, 0.0)
        var (sx, cx, x1) = (0.0, 0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let (s, c, x) = (sin(angle * Double(index)), cos(angle * Double(index)), Double(sample))
            ss += s * s
            sc += s * c
            cc += c * c
            s1 += s
            c1 += c
            sx += s * x
            cx += c * x
            x1 += x
        }
        let (a, b, offset) = Self.solve((ss, sc, s1), (sc, cc, c1), (s1, c1, count), (sx, cx, x1))
        var (signal, noise, worst) = (0.0, 0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let fitted = a * sin(angle * Double(index)) + b * cos(angle * Double(index))
            let error = Double(sample) - fitted - offset
            signal += fitted * fitted
            noise += error * error
            worst = max(worst, abs(error))
        }
        return (10 * log10(noise / signal), worst)
    }

    private typealias Row = (Double, Double, Double)

    /// Solves three linear equations with Cramer's rule.
    private static func solve(_ p: Row, _ q: Row, _ r: Row, _ right: Row) -> Row {
        func determinant(_ a: Row, _ b: Row, _ c: Row) -> Double {
            a.0 * (b.1 * c.2 - b.2 * c.1) - a.1 * (b.0 * c.2 - b.2 * c.0) + a.2 * (b.0 * c.1 - b.1 * c.0)
        }
        let all = determinant(p, q, r)
        return (
            determinant((right.0, p.1, p.2), (right.1, q.1, q.2), (right.2, r.1, r.2)) / all,
            determinant((p.0, right.0, p.2), (q.0, right.1, q.2), (r.0, right.2, r.2)) / all,
            determinant((p.0, p.1, right.0), (q.0, q.1, right.1), (r.0, r.1, right.2)) / all
        )
    }
}
