import Glibc

extension [UInt8] {
    /// Copies all of `source` to `offset` with one `memcpy`. In debug builds `replaceSubrange` copies byte by byte.
    package mutating func copy(_ source: [UInt8], to offset: Int) {
        precondition(offset >= 0 && offset + source.count <= count)
        withUnsafeMutableBytes { target in
            source.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: target[offset...]).copyMemory(from: $0) }
        }
    }

    /// Sets the bytes of `range` to `value` with one `memset`.
    package mutating func fill(_ range: Range<Int>, with value: UInt8) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        withUnsafeMutableBytes { _ = memset($0.baseAddress! + range.lowerBound, Int32(value), range.count) }
    }
}
