import Glibc

extension [UInt8] {
    /// Copies all of `source` to `offset` in one go, where `replaceSubrange` goes byte by byte in a debug build.
    package mutating func copy(_ source: [UInt8], to offset: Int) {
        precondition(offset >= 0 && offset + source.count <= count)
        withUnsafeMutableBytes { target in
            source.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: target[offset...]).copyMemory(from: $0) }
        }
    }

    /// Sets the bytes of `range` to `value` in one go.
    package mutating func fill(_ range: Range<Int>, with value: UInt8) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        withUnsafeMutableBytes { _ = memset($0.baseAddress! + range.lowerBound, Int32(value), range.count) }
    }
}
