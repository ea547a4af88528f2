import MediaGraphTesting

/// Returns random bytes, which are the same for the same seed.
public func noise(_ count: Int, seed: UInt64 = 1, in range: ClosedRange<UInt8> = 0...255) -> [UInt8] {
    var generator = SplitMix64(state: seed)
    // Generates eight bytes at a time: one by one, a large picture takes seconds in debug mode.
    let words = (0..<(count + 7) / 8).map { _ in generator.next() }
    let bytes = words.withUnsafeBytes { Array($0.prefix(count)) }
    guard range != 0...255 else { return bytes }
    let span = UInt16(range.count)
    return bytes.map { range.lowerBound + UInt8((UInt16($0) * span) >> 8) }
}

/// Returns random samples, which are the same for the same seed.
public func noiseSamples(
    _ count: Int, seed: UInt64 = 1, in range: ClosedRange<Int16> = -20_000...20_000
) -> [Int16] {
    var generator = SplitMix64(state: seed)
    return (0..<count).map { _ in Int16.random(in: range, using: &generator) }
}
